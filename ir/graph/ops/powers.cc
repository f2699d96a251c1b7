// Powers and roots.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

ScalarFunction SquareFunction() {
  const Scalar x = Variable("x");
  return {.value = x * x, .gradients = {2 * (Dy() * x)}};
}

// dy y x^(y - 1), whose exponent stays 0 where y is 0: the derivative is 0 there, also at x = 0.
OpId ByBase(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId zero = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}}, name);
  const OpId one = builder.Add(OpKind::kNotEqual, {op.inputs[1], zero}, {}, name);
  const OpId exponent = builder.Add(OpKind::kSub, {op.inputs[1], one}, {}, name);
  const OpId power = builder.Add(OpKind::kPow, {op.inputs[0], exponent}, {}, name);
  const OpId slope = builder.Add(OpKind::kMul, {op.inputs[1], power}, {}, name);
  return builder.Add(OpKind::kMul, {dy, slope}, {}, name);
}

// dy x^y log(x): where x is not positive the logarithm is taken of 1, so that the derivative is 0. There the power is
// constant, or has no derivative.
OpId ByExponent(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "y");
  const OpId zero = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}}, name);
  const OpId one = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 1.0}}, name);
  const OpId positive = builder.Add(OpKind::kGreater, {op.inputs[0], zero}, {}, name);
  const OpId base = builder.Add(OpKind::kWhere, {positive, op.inputs[0], one}, {}, name);
  const OpId slope = builder.Add(OpKind::kMul, {op.id, builder.Add(OpKind::kLog, {base}, {}, name)}, {}, name);
  return builder.Add(OpKind::kMul, {dy, slope}, {}, name);
}

Gradients PowGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  return {SumToType(builder, ByBase(builder, op, dy), x, GradientName(op, "x")),
          SumToType(builder, ByExponent(builder, op, dy), y, GradientName(op, "y"))};
}

InferResult InferPower(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kExponent)) return *error;
  return inputs[0];
}

// dy e x^(e - 1), without the power if its exponent is 0, and nothing at all if e is 0.
Gradients PowerGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const double exponent = op.attributes.Get(attribute::kExponent);
  if (exponent == 0) return {std::nullopt};
  const std::string name = GradientName(op, "x");
  const OpId share = builder.Add(OpKind::kScale, {dy}, {{attribute::kFactor, exponent}}, name);
  if (exponent == 1) return {share};
  const OpId power = builder.Add(OpKind::kPower, {op.inputs[0]}, {{attribute::kExponent, exponent - 1}}, name);
  return {builder.Add(OpKind::kMul, {share, power}, {}, name)};
}

}  // namespace

Scalar Square(const Scalar& x) { return Call(OpKind::kSquare, SquareFunction(), {x}); }

OpDefinition DefineSquare() { return ComputedInF32(UnaryOp(SquareFunction(), "each element times itself")); }

OpDefinition DefineSqrt() {
  return ComputedInF32(UnaryOp({.value = Sqrt(Variable("x"))}, "square root of each element"));
}

// The derivative of x^(-1/2) is -1/2 x^(-3/2) = -y / (2 x).
OpDefinition DefineRsqrt() {
  const Scalar x = Variable("x");
  return ComputedInF32(
      UnaryOp({.value = 1 / Sqrt(x), .gradients = {-0.5 * (Dy() * Result() / x)}}, "1 / sqrt of each element"));
}

OpDefinition DefinePow() {
  const Scalar x = Variable("x"), y = Variable("y");
  OpDefinition definition = BinaryOp(Pow(x, y), "x to the power of y, with broadcasting");
  definition.gradient = PowGradients;
  return ComputedInF32(std::move(definition));
}

OpDefinition DefinePower() {
  const Scalar x = Variable("x"), exponent = Variable(attribute::kExponent);
  OpDefinition definition = UnaryOp({.parameters = {"x", attribute::kExponent.name}, .value = Pow(x, exponent)},
                                    "each element to the power of a constant exponent");
  definition.signature.push_back(RequiredAttribute(attribute::kExponent));
  definition.infer = InferPower;
  definition.gradient = PowerGradients;
  return ComputedInF32(std::move(definition));
}

}  // namespace cleave::ir
