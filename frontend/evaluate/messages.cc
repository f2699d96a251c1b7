// `send` and `recv`: brought together at compile time, one exchange of messages for each pair of calls.
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {

// A statement; what it sends waits for the `recv` that takes it.
void Evaluator::Send(const syntax::Call& call, Span span, Frame& frame) {
  if (RefuseInVmap("send", span)) return;
  const Naming before = frame.naming;
  frame.naming = Naming{.path = frame.PathOf("")};
  const auto given = ReadArguments(Primitive::kSend, call, span, frame);
  frame.naming = before;
  if (!given) return;
  const auto x = TensorArgument(given->at("x"), "x", Primitive::kSend);
  const auto to = RanksArgument(*given->at("to").expression, given->at("to").value, "to");
  const auto tag = IntArgument(given->at("tag"), "tag", 0, Code::kE0702, call.callee->span, frame);
  if (x && to && tag) mailbox_.Send({.span = reporter_.UserPlace(span), .value = *x, .to = *to, .tag = *tag});
}

// `recv((32, 10), from = rank - 1)`: a tensor of that shape, zeros on ranks that receive from nobody.
Value Evaluator::Receive(const syntax::Call& call, Span span, Frame& frame) {
  if (RefuseInVmap("recv", span)) return Value{Poison()};
  const auto given = ReadArguments(Primitive::kReceive, call, span, frame);
  if (!given) return Value{Poison()};
  const Given& like = given->at("like");
  const Given& wish = given->at("dtype");
  TensorType type{DType::kF32, {}};
  if (like.value.is_tensor()) type = builder_.type(like.value.as_tensor());
  if (const auto* dtype = std::get_if<DType>(&wish.value.kind)) {
    type.dtype = *dtype;
  } else if (wish.expression != nullptr) {
    reporter_.Report(Error(Code::kE0204, "argument `dtype` of `recv` is an element type, `f32` or `i32`")
                         .At(wish.expression->span, absl::StrCat("this is ", DescribeType(wish.value, graph()))));
    return Value{Poison()};
  }
  const auto shape = ShapeArgument(*like.expression, like.value, frame);
  const auto from = RanksArgument(*given->at("from").expression, given->at("from").value, "from");
  const auto tag = IntArgument(given->at("tag"), "tag", 0, Code::kE0702, call.callee->span, frame);
  if (!shape || !from || !tag) return Value{Poison()};
  type.shape = *shape;

  Delivery delivery = mailbox_.Receive({.span = reporter_.UserPlace(span), .from = *from, .tag = *tag});
  if (delivery.mistake) {
    reporter_.Report(*std::move(delivery.mistake));
    return Value{Poison()};
  }
  const int first = static_cast<int>(graph().ops.size());
  Value result{Poison()};
  if (!delivery.send) {
    builder_.SetLine(reporter_.ModelLine(span));
    const std::string name = frame.naming.path.empty() ? "recv" : absl::StrCat(frame.naming.path, ".recv");
    result = Value{TensorValue{builder_.Add(
        OpKind::kConstant, {},
        {{attribute::kDType, type.dtype}, {attribute::kShape, type.shape}, {attribute::kValue, 0.0}}, name)}};
  } else if (const TensorType& sent = builder_.type(delivery.send->value); sent != type) {
    reporter_.Report(Error(Code::kE0704, absl::StrCat("`recv` of ", type.ToString(), " gets ", sent.ToString()))
                         .At(like.expression->span, absl::StrCat("expects ", type.ToString()))
                         .At(delivery.send->span, absl::StrCat("sends ", sent.ToString())));
  } else {
    const auto received = Exchange(Primitive::kReceive, {{like.expression, delivery.send->value}},
                                   {{like.expression, type.shape, delivery.send->to}},
                                   {{like.expression, type.shape, *from}}, span, frame);
    if (received) result = Value{TensorValue{received->front()}};
  }
  last_operation_ = {span, "recv", first, static_cast<int>(graph().ops.size()), false};
  return result;
}

void Evaluator::ReportUnreceived() {
  for (Diagnostic& error : mailbox_.Unreceived()) reporter_.Report(std::move(error));
}

}  // namespace cleave::frontend
