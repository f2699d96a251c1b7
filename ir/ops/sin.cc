#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients SinGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId slope = builder.Add(OpKind::kCos, {op.inputs[0]}, {}, name);
  return {builder.Add(OpKind::kMul, {dy, slope}, {}, name)};
}

}  // namespace

OpDefinition DefineSin() {
  OpDefinition definition = UnaryOp("sine of each element, in radians");
  definition.gradient = SinGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::sin(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
