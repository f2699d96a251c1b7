#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

// Where x and y are equal the gradient goes to x alone. It is written as products with 1 or 0, because these are linear
// in dy, unlike a choice between dy and zero. x and y are compared with each other, not with the result: what the
// forward pass has added up in another order may differ from both in the last bits.
Gradients GradientsOfTheExtreme(GraphBuilder& builder, const Op& op, OpId dy) {
  if (op.type.dtype == DType::kI32) return ZeroGradients(builder, op, dy);
  const OpKind takes_x = op.kind == OpKind::kMaximum ? OpKind::kGreaterEqual : OpKind::kLessEqual;
  const OpKind takes_y = op.kind == OpKind::kMaximum ? OpKind::kLess : OpKind::kGreater;
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  const std::string name_x = GradientName(op, "x");
  const std::string name_y = GradientName(op, "y");
  const OpId is_x = builder.Add(takes_x, {op.inputs[0], op.inputs[1]}, {}, name_x);
  const OpId is_y = builder.Add(takes_y, {op.inputs[0], op.inputs[1]}, {}, name_y);
  const OpId by_x = builder.Add(OpKind::kMul, {dy, is_x}, {}, name_x);
  const OpId by_y = builder.Add(OpKind::kMul, {dy, is_y}, {}, name_y);
  return {SumToType(builder, by_x, x, name_x), SumToType(builder, by_y, y, name_y)};
}

OpDefinition ExtremeOp(const Scalar& value, std::string summary) {
  OpDefinition definition = ArithmeticOp(value, std::move(summary));
  definition.gradient = GradientsOfTheExtreme;
  return definition;
}

InferResult InferClamp(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kLow)) return *error;
  if (auto error = CheckFinite(attributes, attribute::kHigh)) return *error;
  const double low = attributes.Get(attribute::kLow);
  const double high = attributes.Get(attribute::kHigh);
  if (low <= high) return inputs[0];
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`low` is ", FormatDouble(low), ", above `high`, ", FormatDouble(high)),
                 .notes = {"every element must be between them"}};
}

}  // namespace

OpDefinition DefineMaximum() {
  const Scalar x = Variable("x"), y = Variable("y");
  return ExtremeOp(Maximum(x, y), "the larger of x and y, with broadcasting");
}

OpDefinition DefineMinimum() {
  const Scalar x = Variable("x"), y = Variable("y");
  return ExtremeOp(Minimum(x, y), "the smaller of x and y, with broadcasting");
}

// The gradient passes inside of the bounds and at them.
OpDefinition DefineClamp() {
  const Scalar x = Variable("x"), low = Variable(attribute::kLow), high = Variable(attribute::kHigh);
  OpDefinition definition = UnaryOp({.parameters = {"x", attribute::kLow.name, attribute::kHigh.name},
                                     .value = Minimum(Maximum(x, low), high),
                                     .gradients = {Dy() * (x >= low) * (x <= high)}},
                                    "each element, or the bound that it exceeds");
  definition.signature.push_back(RequiredAttribute(attribute::kLow));
  definition.signature.push_back(RequiredAttribute(attribute::kHigh));
  definition.infer = InferClamp;
  return definition;
}

}  // namespace cleave::ir
