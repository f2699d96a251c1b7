// Messages of all ranks at once: what each sends to whom, and what it gets from whom. The op takes and gives one
// vector; parts are cut out of it and joined here, by ops that have their gradients.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"
#include "ir/manual/exchange.h"

namespace cleave::frontend {
namespace {

// The elements of a tuple as they are written, or the whole expression for each.
const syntax::Expression& ElementOf(const syntax::Expression& expression, size_t i) {
  const auto* tuple = std::get_if<syntax::Tuple>(&expression.kind);
  return tuple != nullptr && i < tuple->elements.size() ? *tuple->elements[i].value : expression;
}

}  // namespace

// For each rank a rank, or -1; nothing after a mistake.
std::optional<std::vector<int64_t>> Evaluator::RanksArgument(const syntax::Expression& expression, const Value& value,
                                                             const std::string& name) {
  if (!OnRank(value, 0).is_int()) {
    reporter_.Report(Error(Code::kE0204, absl::StrCat("`", name, "` names a rank"))
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph())))
                         .Note("an int, which may differ between ranks; -1 is nobody"));
    return std::nullopt;
  }
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < world(); ++rank) {
    const int64_t other = OnRank(value, rank).as_int();
    ranks.push_back(other);
    if (other >= -1 && other < world()) continue;
    Diagnostic error = Error(Code::kE0709, absl::StrCat("rank ", other, " of ", Plural(world(), "rank")))
                           .At(expression.span, value.is_per_rank() ? absl::StrCat("this is ", other, " on rank ", rank)
                                                                    : absl::StrCat("this is ", other))
                           .Note(absl::StrCat("ranks are 0 to ", world() - 1, ", and -1 is nobody"));
    const std::string text = ExpressionText(expression);
    error.help.push_back(other >= world()
                             ? absl::StrCat("`choose(", text, " < world, ", text, ", -1)`, or `(", text, ") % world`")
                             : absl::StrCat("`choose(", text, " < 0, -1, ", text, ")`"));
    reporter_.Report(std::move(error));
    return std::nullopt;
  }
  return ranks;
}

// A tuple of `count` ranks; 0: any number. One rank may stand alone.
std::optional<std::vector<Evaluator::Part>> Evaluator::PartsArgument(const Given& given, const std::string& name,
                                                                     size_t count) {
  const std::vector<Value> values = given.value.is_tuple() ? given.value.as_tuple() : std::vector<Value>{given.value};
  if (values.empty() || (count > 0 && values.size() != count)) {
    reporter_.Report(
        Error(Code::kE0204, absl::StrCat("`", name, "` names a rank for each part"))
            .At(given.expression->span, absl::StrCat("these are ", Plural(static_cast<int64_t>(values.size()), "rank"),
                                                     count > 0 ? absl::StrCat(", not ", count) : "")));
    return std::nullopt;
  }
  std::vector<Part> parts;
  for (size_t i = 0; i < values.size(); ++i) {
    const syntax::Expression& element = ElementOf(*given.expression, i);
    const auto ranks = RanksArgument(element, values[i], name);
    if (!ranks) return std::nullopt;
    parts.push_back({&element, {}, *ranks});
  }
  return parts;
}

// The shape of a message: a tuple of positive ints, one int, or that of a tensor.
std::optional<Shape> Evaluator::ShapeArgument(const syntax::Expression& expression, const Value& value, Frame& frame) {
  if (value.is_tensor()) return builder_.type(value.as_tensor()).shape;
  if (DiffersBetweenRanks(value)) {
    ReportShape("a shape that differs between ranks", expression, value, frame);
    return std::nullopt;
  }
  const auto sizes = ToAttribute({.name = "shape", .kind = ArgumentKind::kInts}, value);
  if (!sizes) {
    reporter_.Report(Error(Code::kE0204, "a shape is a tuple of ints")
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
    return std::nullopt;
  }
  const Shape shape = std::get<std::vector<int64_t>>(*sizes);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 1; })) {
    reporter_.Report(Error(Code::kE0207, "a dimension must be positive")
                         .At(expression.span, absl::StrCat("the shape is ", ShapeText(shape))));
    return std::nullopt;
  }
  if (!CheckElementCount({DType::kF32, shape}, expression.span)) return std::nullopt;
  return shape;
}

std::optional<std::vector<OpId>> Evaluator::Exchange(Primitive primitive, const std::vector<Operand>& sent,
                                                     const std::vector<Part>& sends, const std::vector<Part>& receives,
                                                     Span span, const Frame& frame) {
  const auto side = [](const std::vector<Part>& parts) {
    ExchangeSide result;
    for (const Part& part : parts) result.sizes.push_back(ElementCount(part.shape));
    for (size_t rank = 0; rank < parts.front().ranks.size(); ++rank) {
      for (const Part& part : parts) result.partners.push_back(part.ranks[rank]);
    }
    return result;
  };
  const ExchangeSide out = side(sends);
  const ExchangeSide in = side(receives);
  if (const auto mismatch = FindMismatch(out, in)) {
    const Part& sender = sends[mismatch->sent.value_or(0)];
    const Part& receiver = receives[mismatch->received.value_or(0)];
    Diagnostic error = Error(Code::kE0704, MismatchText(*mismatch, out, in));
    if (mismatch->sent) error.labels.push_back({sender.expression->span, "sent here"});
    error.labels.push_back({receiver.expression->span, mismatch->received ? "received here" : "nothing for it here"});
    if (!mismatch->sent) error.labels.push_back({sender.expression->span, "nothing for it here"});
    reporter_.Report(std::move(error).Note(
        "between two ranks the first part that one sends is the first that the other receives, and so on"));
    return std::nullopt;
  }

  std::vector<Operand> vectors;
  for (size_t i = 0; i < sent.size(); ++i) {
    const Value vector =
        AddOp(OpKind::kReshape, {sent[i]}, {{attribute::kShape, std::vector<int64_t>{out.sizes[i]}}}, span, frame);
    if (vector.is_poison()) return std::nullopt;
    vectors.push_back({sent[i].expression, vector.as_tensor()});
  }
  if (vectors.size() > 1) {
    const Value joined = AddOp(OpKind::kConcat, vectors, {{attribute::kAxis, 0}}, span, frame);
    if (joined.is_poison()) return std::nullopt;
    vectors = {{vectors[0].expression, joined.as_tensor()}};
  }
  const std::string word = primitive == Primitive::kReceive ? "send_recv" : SignatureOf(primitive).callee;
  const Value exchanged = AddOp(OpKind::kNeighborExchange, vectors,
                                {{attribute::kPrimitive, word},
                                  {attribute::kSendSizes, out.sizes},
                                  {attribute::kReceiveSizes, in.sizes},
                                  {attribute::kSendRanks, out.partners},
                                  {attribute::kReceiveRanks, in.partners}},
                                span, frame, word);
  if (exchanged.is_poison()) return std::nullopt;
  expansion_.rank_places[exchanged.as_tensor()] = span;

  std::vector<OpId> received;
  int64_t begin = 0;
  for (size_t i = 0; i < receives.size(); ++i) {
    Value part = exchanged;
    const int64_t end = begin + in.sizes[i];
    if (receives.size() > 1) {
      part = AddOp(OpKind::kSlice, {{receives[i].expression, exchanged.as_tensor()}},
                   {{attribute::kBegin, std::vector<int64_t>{begin}}, {attribute::kEnd, std::vector<int64_t>{end}}},
                   span, frame);
    }
    begin = end;
    part = AddOp(OpKind::kReshape, {{receives[i].expression, part.as_tensor()}},
                 {{attribute::kShape, receives[i].shape}}, span, frame);
    received.push_back(part.as_tensor());
  }
  return received;
}

// `neighbor_exchange((a, b), send = (r1, r2), receive = (r1, r2), shapes = ((4, 2), (4, 2)))`: a tuple of what comes.
Value Evaluator::ExchangeWithNeighbors(const syntax::Call& call, Span span, Frame& frame) {
  constexpr Primitive kExchange = Primitive::kNeighborExchange;
  const auto given = ReadArguments(kExchange, call, span, frame);
  if (!given) return Value{Poison()};
  const Given& x = given->at("x");
  if (!x.value.is_tuple() || x.value.as_tuple().empty()) {
    reporter_.Report(Error(Code::kE0204, "argument `x` of `neighbor_exchange` is a tuple of tensors")
                         .At(x.expression->span, absl::StrCat("this is ", DescribeType(x.value, graph())))
                         .Note(absl::StrCat("the signature is `", SignatureOf(kExchange).ToString(), "`")));
    return Value{Poison()};
  }
  std::vector<Operand> sent;
  for (size_t i = 0; i < x.value.as_tuple().size(); ++i) {
    const Given element{&ElementOf(*x.expression, i), x.value.as_tuple()[i]};
    const auto tensor = TensorArgument(element, "x", kExchange);
    if (!tensor) return Value{Poison()};
    sent.push_back({element.expression, *tensor});
  }
  auto sends = PartsArgument(given->at("send"), "send", sent.size());
  auto receives = PartsArgument(given->at("receive"), "receive", 0);
  if (!sends || !receives) return Value{Poison()};
  for (size_t i = 0; i < sent.size(); ++i) (*sends)[i].shape = builder_.type(sent[i].op).shape;

  const Given& shapes = given->at("shapes");
  const size_t count = shapes.expression == nullptr ? sent.size()
                       : shapes.value.is_tuple()    ? shapes.value.as_tuple().size()
                                                    : 0;
  if (count != receives->size()) {
    reporter_.Report(
        Error(Code::kE0204, "`shapes` has a shape for each part that is received")
            .At((shapes.expression ? shapes : given->at("receive")).expression->span,
                absl::StrCat(receives->size(), " received, ", Plural(static_cast<int64_t>(count), "shape")))
            .Note("without `shapes` they are those of the parts sent"));
    return Value{Poison()};
  }
  for (size_t i = 0; i < receives->size(); ++i) {
    Part& part = (*receives)[i];
    if (shapes.expression == nullptr) {
      part.shape = (*sends)[i].shape;
      continue;
    }
    const auto shape = ShapeArgument(ElementOf(*shapes.expression, i), shapes.value.as_tuple()[i], frame);
    if (!shape) return Value{Poison()};
    part.shape = *shape;
  }
  const auto received = Exchange(kExchange, sent, *sends, *receives, span, frame);
  if (!received) return Value{Poison()};
  TupleValue result;
  for (const OpId part : *received) result.elements.emplace_back().kind = TensorValue{part};
  return Value{std::move(result)};
}

}  // namespace cleave::frontend
