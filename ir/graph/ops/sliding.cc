#include "ir/graph/ops/sliding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

Piece PieceOfRange(const FactorRange& range) { return {.begin = range.begin, .size = range.size}; }

// What is held in windows begins where the window begins, and the shape of the local tensor says where it ends.
Piece HeldPiece(const Window& window, const FactorRange& range, int64_t local_size) {
  return {.begin = range.is_cut ? window.Of(PieceOfRange(range)).begin : 0, .size = local_size};
}

LocalSliding OverInput(const Sliding& sliding, const FactorRange& range, int64_t local_input) {
  const Window window = sliding.OverInput(kMaxElements, range.global);
  return {.sliding = sliding, .input = HeldPiece(window, range, local_input), .output = PieceOfRange(range)};
}

LocalSliding OverOutput(const Sliding& sliding, const FactorRange& range, int64_t local_output) {
  const Window window = sliding.OverOutput(range.global, kMaxElements);
  return {.sliding = sliding, .input = PieceOfRange(range), .output = HeldPiece(window, range, local_output)};
}

}  // namespace

Pair PairOf(const Attributes& attributes, Attribute<std::vector<int64_t>> key) {
  const std::vector<int64_t>& numbers = attributes.Get(key);
  return {.rows = numbers.front(), .columns = numbers.back()};
}

void SetPair(Attribute<std::vector<int64_t>> key, int64_t rows, int64_t columns, Attributes& attributes) {
  attributes.Set(key, std::vector<int64_t>{rows, columns});
}

std::optional<OpError> CheckPair(const Attributes& attributes, Attribute<std::vector<int64_t>> key, int64_t least,
                                 int64_t most) {
  const std::vector<int64_t>& numbers = attributes.Get(key);
  if (numbers.empty() || numbers.size() > 2) {
    return OpError{
        .code = Code::kE0409,
        .message = absl::StrCat("`", key.name, "` has ", Plural(static_cast<int64_t>(numbers.size()), "number")),
        .help = {absl::StrCat(key.name, " = (rows, columns), or one number for both")}};
  }
  for (int64_t number : numbers) {
    if (number >= least && number <= most) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`", key.name, "` is ", number),
                   .notes = {absl::StrCat("it is ", least, " to ", most)}};
  }
  return std::nullopt;
}

std::optional<OpError> CheckImages(Types inputs, int index, const std::string& argument) {
  if (auto error = CheckFloat(inputs, index, argument)) return error;
  const Shape& shape = inputs[static_cast<size_t>(index)].shape;
  if (shape.size() == 4) return std::nullopt;
  OpError error{.code = Code::kE0408,
                .message = absl::StrCat("images have 4 dimensions, found ", shape.size()),
                .about = {{index, absl::StrCat("has ", Plural(static_cast<int64_t>(shape.size()), "dimension"))}},
                .notes = {"the dimensions are samples, channels, rows and columns"}};
  if (shape.size() == 3) {
    const Shape one_channel = {shape[0], 1, shape[1], shape[2]};
    error.help.push_back(absl::StrCat("reshape(", argument, ", ", ShapeTupleText(one_channel), ")"));
  }
  return error;
}

std::optional<OpError> CheckFits(Types inputs, int index, const Sliding2d& sliding) {
  const Shape& shape = inputs[static_cast<size_t>(index)].shape;
  for (size_t d : {2, 3}) {
    const Sliding& along = d == 2 ? sliding.rows : sliding.columns;
    if (along.OutputSize(shape[d]) > 0) continue;
    const std::string what = d == 2 ? "rows" : "columns";
    // The least padding on each side with which the kernel has one place.
    const int64_t needed = (along.span() - shape[d] + 1) / 2;
    return OpError{
        .code = Code::kE0413,
        .message = absl::StrCat("a kernel over ", along.span(), " ", what, " does not fit into ", shape[d],
                                along.padding > 0 ? absl::StrCat(" and ", 2 * along.padding, " of padding") : ""),
        .about = {{index, absl::StrCat("has ", shape[d], " ", what)}},
        .help = {absl::StrCat("padding = ", needed)}};
  }
  return std::nullopt;
}

Shape SlidOver(const Shape& images, int64_t channels, const Sliding2d& sliding) {
  return {images[0], channels, sliding.rows.OutputSize(images[2]), sliding.columns.OutputSize(images[3])};
}

Sliding2d SlidingOf(const Rule& rule) { return {.rows = rule.windows[0].sliding, .columns = rule.windows[1].sliding}; }

int64_t LocalSliding::At(int64_t i, int64_t tap) const {
  const int64_t whole = (output.begin + i) * sliding.stride - sliding.padding + tap * sliding.dilation;
  return whole < input.begin || whole >= input.end() ? -1 : whole - input.begin;
}

Piece LocalSliding::OutputsOf(int64_t tap) const {
  // The element at which the first one looks, in padding or not.
  const int64_t first = output.begin * sliding.stride - sliding.padding + tap * sliding.dilation;
  const auto outputs_before = [&](int64_t element) {
    const int64_t distance = element - first;
    return distance <= 0 ? 0 : std::min(output.size, (distance - 1) / sliding.stride + 1);
  };
  const int64_t begin = outputs_before(input.begin);
  return {.begin = begin, .size = outputs_before(input.end()) - begin};
}

LocalSliding2d SlidingOverInput(const Evaluation& evaluation, const Sliding2d& sliding, ImageFactors factors,
                                const Shape& images) {
  const auto range = [&](int factor) { return evaluation.ranges[static_cast<size_t>(factor)]; };
  return {.rows = OverInput(sliding.rows, range(factors.rows), images[2]),
          .columns = OverInput(sliding.columns, range(factors.columns), images[3])};
}

LocalSliding2d SlidingOverOutput(const Evaluation& evaluation, const Sliding2d& sliding, ImageFactors factors,
                                 const Shape& outputs) {
  const auto range = [&](int factor) { return evaluation.ranges[static_cast<size_t>(factor)]; };
  return {.rows = OverOutput(sliding.rows, range(factors.rows), outputs[2]),
          .columns = OverOutput(sliding.columns, range(factors.columns), outputs[3])};
}

CallArgument SlidingArgument(const Sliding& sliding, const LocalDimension& input, const LocalDimension& output) {
  return BracedList{{{LocalRange{input}, "input"},
                     {LocalRange{output}, "output"},
                     {sliding.kernel, "kernel"},
                     {sliding.stride, "stride", 1},
                     {sliding.padding, "padding", 0},
                     {sliding.dilation, "dilation", 1}}};
}

}  // namespace cleave::ir
