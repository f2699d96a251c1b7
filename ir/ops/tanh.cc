#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients TanhGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kTanhGradient, {dy, op.id}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineTanh() {
  OpDefinition definition = UnaryOp("hyperbolic tangent of each element");
  definition.gradient = TanhGradients;
  definition.flops = FlopsPerElement<10>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::tanh(x); }>;
  return definition;
}

}  // namespace cleave
