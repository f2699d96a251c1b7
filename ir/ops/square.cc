#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients SquareGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId product = builder.Add("mul", {dy, op.inputs[0]}, {}, GradientName(op, "x"));
  return {builder.Add("scale", {product}, {{"factor", 2.0}}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineSquare() {
  OpDefinition definition = UnaryOp("square", "each element times itself");
  definition.gradient = SquareGradients;
  definition.evaluate = EvaluateUnary<[](double x) { return x * x; }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
