#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients RsqrtGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  // d x^(-1/2) = -1/2 x^(-3/2) = -y / (2 x)
  const OpId product = builder.Add(OpKind::kMul, {dy, op.id}, {}, GradientName(op, "x"));
  const OpId ratio = builder.Add(OpKind::kDiv, {product, op.inputs[0]}, {}, GradientName(op, "x"));
  return {builder.Add(OpKind::kScale, {ratio}, {{attribute::kFactor, -0.5}}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineRsqrt() {
  OpDefinition definition = UnaryOp("1 / sqrt of each element");
  definition.gradient = RsqrtGradients;
  definition.flops = FlopsPerElement<5>;
  definition.evaluate = EvaluateUnary<[](double x) { return 1 / std::sqrt(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
