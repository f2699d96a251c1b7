#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients SquareGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId product = builder.Add(OpKind::kMul, {dy, op.inputs[0]}, {}, GradientName(op, "x"));
  return {builder.Add(OpKind::kScale, {product}, {{attribute::kFactor, 2.0}}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineSquare() {
  OpDefinition definition = UnaryOp("each element times itself");
  definition.gradient = SquareGradients;
  definition.evaluate = EvaluateUnary<[](double x) { return x * x; }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
