// By y the derivative is x^y log(x) where x is positive and taken as 0 elsewhere: there the power is constant or has
// none.

#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

// dy y x^(y - 1), whose exponent stays 0 where y is 0: the derivative is 0 there, at x = 0 too.
OpId ByBase(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId zero = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}}, name);
  const OpId one = builder.Add(OpKind::kNotEqual, {op.inputs[1], zero}, {}, name);
  const OpId exponent = builder.Add(OpKind::kSub, {op.inputs[1], one}, {}, name);
  const OpId power = builder.Add(OpKind::kPow, {op.inputs[0], exponent}, {}, name);
  const OpId slope = builder.Add(OpKind::kMul, {op.inputs[1], power}, {}, name);
  return builder.Add(OpKind::kMul, {dy, slope}, {}, name);
}

// dy x^y log(x): where x is not positive the logarithm is that of 1.
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

}  // namespace

OpDefinition DefinePow() {
  OpDefinition definition = BinaryOp("x to the power of y, with broadcasting");
  definition.gradient = PowGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluateBinary<[](double x, double y) { return std::pow(x, y); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
