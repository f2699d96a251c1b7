#include "frontend/evaluate/ranks/messages.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/ranks/neighbors.h"
#include "frontend/evaluate/ranks/primitive_arguments.h"

namespace cleave::frontend {

void Messages::Send(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const Naming before = frame.naming;
  frame.naming = Naming{.path = frame.PathOf(""), .parameters = frame.ParametersOf("")};
  const auto given = ReadArguments(Primitive::kSend, site, context);
  frame.naming = before;
  if (!given) return;
  const auto x = TensorArgument(given->at("x"), "x", Primitive::kSend, context);
  const auto to = RanksArgument(*given->at("to").expression, given->at("to").value, "to", context);
  const auto tag = IntArgument(given->at("tag"), "tag", 0, Code::kE0702, site, context);
  if (x && to && tag) mailbox_.Send({.span = context.reporter.UserPlace(span), .value = *x, .to = *to, .tag = *tag});
}

Value Messages::Receive(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const auto given = ReadArguments(Primitive::kReceive, site, context);
  if (!given) return Value{Poison()};
  const PrimitiveArgument& like = given->at("like");
  const PrimitiveArgument& wish = given->at("dtype");
  ir::TensorType type{ir::DType::kF32, {}};
  if (like.value.is_tensor()) type = context.ops.type(like.value.as_tensor());
  if (const auto* dtype = std::get_if<ir::DType>(&wish.value.kind)) {
    type.dtype = *dtype;
  } else if (wish.expression != nullptr) {
    context.reporter.Report(
        Error(Code::kE0204, "argument `dtype` of `recv` is an element type, `f32` or `i32`")
            .At(wish.expression->span, absl::StrCat("this is ", DescribeType(wish.value, context.graph()))));
    return Value{Poison()};
  }
  const auto shape = ShapeArgument(*like.expression, like.value, frame, context);
  const auto from = RanksArgument(*given->at("from").expression, given->at("from").value, "from", context);
  const auto tag = IntArgument(given->at("tag"), "tag", 0, Code::kE0702, site, context);
  if (!shape || !from || !tag) return Value{Poison()};
  type.shape = *shape;

  Delivery delivery = mailbox_.Receive({.span = context.reporter.UserPlace(span), .from = *from, .tag = *tag});
  if (delivery.mistake) {
    context.reporter.Report(*std::move(delivery.mistake));
    return Value{Poison()};
  }
  const int first = context.ops.size();
  Value result{Poison()};
  if (!delivery.send) {
    result = Value{TensorValue{context.ops.AddValid(
        ir::OpKind::kConstant, {},
        {{ir::attribute::kDType, type.dtype}, {ir::attribute::kShape, type.shape}, {ir::attribute::kValue, 0.0}},
        JoinPath(frame.naming.path, "recv"), span)}};
  } else if (const ir::TensorType& sent = context.ops.type(delivery.send->value); sent != type) {
    context.reporter.Report(Error(Code::kE0704, absl::StrCat("`recv` of ", type.ToString(), " gets ", sent.ToString()))
                                .At(like.expression->span, absl::StrCat("expects ", type.ToString()))
                                .At(delivery.send->span, absl::StrCat("sends ", sent.ToString())));
  } else {
    const auto received = Exchange(Primitive::kReceive, {{like.expression, delivery.send->value}},
                                   {{like.expression, type.shape, delivery.send->to}},
                                   {{like.expression, type.shape, *from}}, frame.At(span), context);
    if (received) result = Value{TensorValue{received->front()}};
  }
  context.ops.EndOperation(span, "recv", first);
  return result;
}

void Messages::ReportUnreceived(Reporter& reporter) const {
  for (Diagnostic& error : mailbox_.Unreceived()) reporter.Report(std::move(error));
}

}  // namespace cleave::frontend
