#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients CosGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId slope = builder.Add(OpKind::kSin, {op.inputs[0]}, {}, name);
  const OpId product = builder.Add(OpKind::kMul, {dy, slope}, {}, name);
  return {builder.Add(OpKind::kNeg, {product}, {}, name)};
}

}  // namespace

OpDefinition DefineCos() {
  OpDefinition definition = UnaryOp("cosine of each element, in radians");
  definition.gradient = CosGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::cos(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
