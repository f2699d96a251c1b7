#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients SqrtGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  // d sqrt(x) = 1 / (2 sqrt(x))
  const OpId ratio = builder.Add(OpKind::kDiv, {dy, op.id}, {}, GradientName(op, "x"));
  return {builder.Add(OpKind::kScale, {ratio}, {{attribute::kFactor, 0.5}}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineSqrt() {
  OpDefinition definition = UnaryOp("square root of each element");
  definition.gradient = SqrtGradients;
  definition.flops = FlopsPerElement<4>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::sqrt(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
