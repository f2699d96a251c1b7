#include "frontend/evaluate/ranks/halo.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/ranks/neighbors.h"
#include "frontend/evaluate/ranks/primitive_arguments.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {
namespace {

// Directions are numbered clockwise from above:
//
//   7 | 0 | 1      0 top, 1 top right, 2 right, 3 bottom right,
//   --+---+--      4 bottom, 5 bottom left, 6 left, 7 top left
//   6 | x | 2
//   --+---+--
//   5 | 4 | 3
//
// A message that is sent in direction d arrives at the neighbour from direction (d + 4) % 8. Messages are received in
// that order, so that two ranks which are neighbours twice, in a ring, do not mistake one message for the other.
constexpr size_t kDirections = 8;
constexpr size_t kRows = 2;
constexpr size_t kColumns = 3;

// -1: towards the first row or column, 1: towards the last, 0: all of them.
constexpr std::array<int, kDirections> kDown = {-1, -1, 0, 1, 1, 1, 0, -1};
constexpr std::array<int, kDirections> kRight = {0, 1, 1, 1, 0, -1, -1, -1};

// The numbers of rows and columns of images that go to the neighbours there.
struct HaloLengths {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
};

// What is sent and received, by direction.
struct Halo {
  HaloLengths lengths;  // Of what is sent.
  std::vector<Message> sends;
  std::vector<Message> receives;
};

int64_t RowsOf(const HaloLengths& lengths, size_t direction, int64_t all) {
  return kDown[direction] == 0 ? all : kDown[direction] < 0 ? lengths.top : lengths.bottom;
}

int64_t ColumnsOf(const HaloLengths& lengths, size_t direction, int64_t all) {
  return kRight[direction] == 0 ? all : kRight[direction] < 0 ? lengths.left : lengths.right;
}

// The part of images that direction `direction` gets: the first or last rows and columns.
ir::Attributes BorderOf(const ir::Shape& shape, const HaloLengths& lengths, size_t direction) {
  std::vector<int64_t> begin(shape.size(), 0);
  std::vector<int64_t> end = shape;
  if (kDown[direction] < 0) end[kRows] = lengths.top;
  if (kDown[direction] > 0) begin[kRows] = shape[kRows] - lengths.bottom;
  if (kRight[direction] < 0) end[kColumns] = lengths.left;
  if (kRight[direction] > 0) begin[kColumns] = shape[kColumns] - lengths.right;
  return {{ir::attribute::kBegin, begin}, {ir::attribute::kEnd, end}};
}

std::optional<HaloLengths> ToLengths(const Value& value) {
  if (!value.is_tuple() || value.as_tuple().size() != 4) return std::nullopt;
  std::array<int64_t, 4> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Value& element = value.as_tuple()[i];
    if (!element.is_int() || element.as_int() < 0) return std::nullopt;
    numbers[i] = element.as_int();
  }
  return HaloLengths{numbers[0], numbers[1], numbers[2], numbers[3]};
}

// Four lengths that are the same on all ranks; nothing after a mistake.
std::optional<HaloLengths> LengthsArgument(const PrimitiveArgument& given, const std::string& name, Frame& frame,
                                           const Context& context) {
  if (DiffersBetweenRanks(given.value)) {
    context.reporter.Report(ShapeDiffersBetweenRanks(absl::StrCat("`", name, "` differs between ranks"),
                                                     *given.expression, given.value, frame.scope, context.graph()));
    return std::nullopt;
  }
  const auto lengths = ToLengths(given.value);
  if (!lengths) {
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat("`", name, "` is four lengths: top, bottom, left and right"))
            .At(given.expression->span, absl::StrCat("this is ", ValueText(given.value, context.graph())))
            .Note("ints that are not negative"));
  }
  return lengths;
}

// Nullopt after a mistake.
std::optional<Halo> ReadHalo(const PrimitiveArguments& given, const ir::Shape& shape, Frame& frame,
                             const Context& context) {
  const PrimitiveArgument& lengths = given.at("lengths");
  const auto out = LengthsArgument(lengths, "lengths", frame, context);
  if (!out) return std::nullopt;
  if (std::max(out->top, out->bottom) > shape[kRows] || std::max(out->left, out->right) > shape[kColumns]) {
    context.reporter.Report(Error(Code::kE0409, "a border larger than the images")
                                .At(lengths.expression->span, absl::StrCat("the images have ", shape[kRows],
                                                                           " rows and ", shape[kColumns], " columns")));
    return std::nullopt;
  }
  // The neighbour above sends what it sends downwards.
  std::optional<HaloLengths> in = HaloLengths{out->bottom, out->top, out->right, out->left};
  const PrimitiveArgument& given_in = given.at("receive_lengths");
  if (given_in.expression != nullptr) in = LengthsArgument(given_in, "receive_lengths", frame, context);
  auto sends = MessagesArgument(given.at("send"), "send", kDirections, context);
  auto receives = MessagesArgument(given.at("receive"), "receive", kDirections, context);
  if (!in || !sends || !receives) return std::nullopt;
  const auto set_shapes = [&](std::vector<Message>& messages, const HaloLengths& border) {
    for (size_t d = 0; d < kDirections; ++d) {
      messages[d].shape = {shape[0], shape[1], RowsOf(border, d, shape[kRows]), ColumnsOf(border, d, shape[kColumns])};
    }
  };
  set_shapes(*sends, *out);
  set_shapes(*receives, *in);
  return Halo{*out, *std::move(sends), *std::move(receives)};
}

// The values from each direction, nullopt for a direction without elements. Nullopt after a mistake.
std::optional<std::vector<std::optional<ir::OpId>>> SendBorders(const Operand& image, const Halo& halo,
                                                                const Origin& origin, const Context& context) {
  const ir::Shape shape = context.ops.type(image.op).shape;
  std::vector<Operand> sent;
  std::vector<Message> sends, receives;
  std::vector<size_t> origins;  // The directions of `receives`.
  for (size_t direction = 0; direction < kDirections; ++direction) {
    if (ir::ElementCount(halo.sends[direction].shape) > 0) {
      const Value border =
          context.ops.AddOp(ir::OpKind::kSlice, {image}, BorderOf(shape, halo.lengths, direction), origin);
      sent.push_back({image.expression, border.as_tensor()});
      sends.push_back(halo.sends[direction]);
    }
    const size_t origin = (direction + kDirections / 2) % kDirections;
    if (ir::ElementCount(halo.receives[origin].shape) > 0) {
      receives.push_back(halo.receives[origin]);
      origins.push_back(origin);
    }
  }
  std::vector<std::optional<ir::OpId>> result(kDirections);
  if (sends.empty() && receives.empty()) return result;
  if (sends.empty() || receives.empty()) {
    context.reporter.Report(
        Error(Code::kE0704, "what is sent and what is received do not match")
            .At(halo.sends[0].expression->span, sends.empty() ? "nothing is sent" : "sent here")
            .At(halo.receives[0].expression->span, receives.empty() ? "nothing is received" : "received here"));
    return std::nullopt;
  }
  const auto received = Exchange(Primitive::kNeighborExchangeV2, sent, sends, receives, origin, context);
  if (!received) return std::nullopt;
  for (size_t i = 0; i < origins.size(); ++i) result[origins[i]] = (*received)[i];
  return result;
}

}  // namespace

Value ExchangeHalo(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const auto given = ReadArguments(Primitive::kNeighborExchangeV2, site, context);
  const auto x = given ? TensorArgument(given->at("x"), "x", Primitive::kNeighborExchangeV2, context) : std::nullopt;
  if (!x) return Value{Poison()};
  const Operand image{given->at("x").expression, *x};
  const ir::Shape shape = context.ops.type(*x).shape;
  if (shape.size() != 4) {
    context.reporter.Report(Error(Code::kE0408, "`neighbor_exchange_v2` of a tensor that is not images")
                                .At(image.expression->span, context.ops.Describe(image))
                                .Note("images have the dimensions samples, channels, rows and columns"));
    return Value{Poison()};
  }
  const auto halo = ReadHalo(*given, shape, frame, context);
  if (!halo) return Value{Poison()};
  const Origin origin = frame.At(span);
  const int first = context.ops.size();
  const auto borders = SendBorders(image, *halo, origin, context);
  if (!borders) return Value{Poison()};

  // The nine parts, joined along columns and then along rows.
  const auto join = [&](const std::vector<Operand>& parts, size_t axis) {
    if (parts.size() == 1) return parts[0];
    const Value joined =
        context.ops.AddOp(ir::OpKind::kConcat, parts, {{ir::attribute::kAxis, static_cast<int64_t>(axis)}}, origin);
    return Operand{image.expression, joined.as_tensor()};
  };
  constexpr size_t kMiddle = kDirections;
  std::vector<Operand> rows;
  for (const auto& directions : {std::array<size_t, 3>{7, 0, 1}, {6, kMiddle, 2}, {5, 4, 3}}) {
    std::vector<Operand> parts;
    for (const size_t direction : directions) {
      if (direction == kMiddle) {
        parts.push_back(image);
      } else if (const auto border = (*borders)[direction]) {
        parts.push_back({image.expression, *border});
      }
    }
    if (!parts.empty()) rows.push_back(join(parts, kColumns));
  }
  const ir::OpId result = join(rows, kRows).op;
  context.ops.EndOperation(span, "neighbor_exchange_v2", first);
  return Value{TensorValue{result}};
}

}  // namespace cleave::frontend
