#include <cmath>

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients CosGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId slope = builder.Add("sin", {op.inputs[0]}, {}, name);
  const OpId product = builder.Add("mul", {dy, slope}, {}, name);
  return {builder.Add("neg", {product}, {}, name)};
}

}  // namespace

OpDefinition DefineCos() {
  OpDefinition definition = UnaryOp("cos", "cosine of each element, in radians");
  definition.gradient = CosGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::cos(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
