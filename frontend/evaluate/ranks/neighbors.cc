#include "frontend/evaluate/ranks/neighbors.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/manual/exchange.h"

namespace cleave::frontend {

std::optional<std::vector<Message>> MessagesArgument(const PrimitiveArgument& given, const std::string& name,
                                                     size_t count, const Context& context) {
  const std::vector<Value> values = given.value.is_tuple() ? given.value.as_tuple() : std::vector<Value>{given.value};
  if (values.empty() || (count > 0 && values.size() != count)) {
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat("`", name, "` names a rank for each part"))
            .At(given.expression->span, absl::StrCat("these are ", Plural(static_cast<int64_t>(values.size()), "rank"),
                                                     count > 0 ? absl::StrCat(", not ", count) : "")));
    return std::nullopt;
  }
  std::vector<Message> messages;
  for (size_t i = 0; i < values.size(); ++i) {
    const dsl::syntax::Expression& element = ElementOf(*given.expression, i);
    const auto ranks = RanksArgument(element, values[i], name, context);
    if (!ranks) return std::nullopt;
    messages.push_back({&element, {}, *ranks});
  }
  return messages;
}

std::optional<std::vector<ir::OpId>> Exchange(Primitive primitive, const std::vector<Operand>& sent,
                                              const std::vector<Message>& sends, const std::vector<Message>& receives,
                                              const Origin& origin, const Context& context) {
  const auto side = [](const std::vector<Message>& messages) {
    ir::ExchangeSide result;
    for (const Message& message : messages) result.sizes.push_back(ir::ElementCount(message.shape));
    for (size_t rank = 0; rank < messages.front().ranks.size(); ++rank) {
      for (const Message& message : messages) result.partners.push_back(message.ranks[rank]);
    }
    return result;
  };
  const ir::ExchangeSide out = side(sends);
  const ir::ExchangeSide in = side(receives);
  if (const auto mismatch = ir::FindMismatch(out, in)) {
    const Message& sender = sends[mismatch->sent.value_or(0)];
    const Message& receiver = receives[mismatch->received.value_or(0)];
    Diagnostic error = Error(Code::kE0704, ir::MismatchText(*mismatch, out, in));
    if (mismatch->sent) error.labels.push_back({sender.expression->span, "sent here"});
    error.labels.push_back({receiver.expression->span, mismatch->received ? "received here" : "nothing for it here"});
    if (!mismatch->sent) error.labels.push_back({sender.expression->span, "nothing for it here"});
    context.reporter.Report(std::move(error).Note(
        "between two ranks the first part that one sends is the first that the other receives, and so on"));
    return std::nullopt;
  }

  std::vector<Operand> vectors;
  for (size_t i = 0; i < sent.size(); ++i) {
    const Value vector = context.ops.AddOp(ir::OpKind::kReshape, {sent[i]},
                                           {{ir::attribute::kShape, std::vector<int64_t>{out.sizes[i]}}}, origin);
    if (vector.is_poison()) return std::nullopt;
    vectors.push_back({sent[i].expression, vector.as_tensor()});
  }
  if (vectors.size() > 1) {
    const Value joined = context.ops.AddOp(ir::OpKind::kConcat, vectors, {{ir::attribute::kAxis, 0}}, origin);
    if (joined.is_poison()) return std::nullopt;
    vectors = {{vectors[0].expression, joined.as_tensor()}};
  }
  const std::string word = primitive == Primitive::kReceive ? "send_recv" : SignatureOf(primitive).callee;
  const Value exchanged = context.ops.AddOpOfRanks(ir::OpKind::kNeighborExchange, vectors,
                                                   {{ir::attribute::kPrimitive, word},
                                                    {ir::attribute::kSendSizes, out.sizes},
                                                    {ir::attribute::kReceiveSizes, in.sizes},
                                                    {ir::attribute::kSendRanks, out.partners},
                                                    {ir::attribute::kReceiveRanks, in.partners}},
                                                   origin, word);
  if (exchanged.is_poison()) return std::nullopt;

  std::vector<ir::OpId> received;
  int64_t begin = 0;
  for (size_t i = 0; i < receives.size(); ++i) {
    Value part = exchanged;
    const int64_t end = begin + in.sizes[i];
    if (receives.size() > 1) {
      part = context.ops.AddOp(
          ir::OpKind::kSlice, {{receives[i].expression, exchanged.as_tensor()}},
          {{ir::attribute::kBegin, std::vector<int64_t>{begin}}, {ir::attribute::kEnd, std::vector<int64_t>{end}}},
          origin);
    }
    begin = end;
    part = context.ops.AddOp(ir::OpKind::kReshape, {{receives[i].expression, part.as_tensor()}},
                             {{ir::attribute::kShape, receives[i].shape}}, origin);
    received.push_back(part.as_tensor());
  }
  return received;
}

Value ExchangeWithNeighbors(const CallSite& site, const Context& context) {
  constexpr Primitive kExchange = Primitive::kNeighborExchange;
  const auto given = ReadArguments(kExchange, site, context);
  if (!given) return Value{Poison()};
  const PrimitiveArgument& x = given->at("x");
  if (!x.value.is_tuple() || x.value.as_tuple().empty()) {
    context.reporter.Report(
        Error(Code::kE0204, "argument `x` of `neighbor_exchange` is a tuple of tensors")
            .At(x.expression->span, absl::StrCat("this is ", DescribeType(x.value, context.graph())))
            .Note(absl::StrCat("the signature is `", SignatureOf(kExchange).ToString(), "`")));
    return Value{Poison()};
  }
  std::vector<Operand> sent;
  for (size_t i = 0; i < x.value.as_tuple().size(); ++i) {
    const PrimitiveArgument element{&ElementOf(*x.expression, i), x.value.as_tuple()[i]};
    const auto tensor = TensorArgument(element, "x", kExchange, context);
    if (!tensor) return Value{Poison()};
    sent.push_back({element.expression, *tensor});
  }
  auto sends = MessagesArgument(given->at("send"), "send", sent.size(), context);
  auto receives = MessagesArgument(given->at("receive"), "receive", 0, context);
  if (!sends || !receives) return Value{Poison()};
  for (size_t i = 0; i < sent.size(); ++i) (*sends)[i].shape = context.ops.type(sent[i].op).shape;

  const PrimitiveArgument& shapes = given->at("shapes");
  const size_t count = shapes.expression == nullptr ? sent.size()
                       : shapes.value.is_tuple()    ? shapes.value.as_tuple().size()
                                                    : 0;
  if (count != receives->size()) {
    context.reporter.Report(
        Error(Code::kE0204, "`shapes` has a shape for each part that is received")
            .At((shapes.expression ? shapes : given->at("receive")).expression->span,
                absl::StrCat(receives->size(), " received, ", Plural(static_cast<int64_t>(count), "shape")))
            .Note("without `shapes` they are those of the parts sent"));
    return Value{Poison()};
  }
  for (size_t i = 0; i < receives->size(); ++i) {
    Message& message = (*receives)[i];
    if (shapes.expression == nullptr) {
      message.shape = (*sends)[i].shape;
      continue;
    }
    const auto shape = ShapeArgument(ElementOf(*shapes.expression, i), shapes.value.as_tuple()[i], site.frame, context);
    if (!shape) return Value{Poison()};
    message.shape = *shape;
  }
  const auto received = Exchange(kExchange, sent, *sends, *receives, site.frame.At(site.span), context);
  if (!received) return Value{Poison()};
  TupleValue result;
  for (const ir::OpId part : *received) result.elements.emplace_back().kind = TensorValue{part};
  return Value{std::move(result)};
}

}  // namespace cleave::frontend
