#include <cmath>

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients TanhGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add("tanh_gradient", {dy, op.id}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineTanh() {
  OpDefinition definition = UnaryOp("tanh", "hyperbolic tangent of each element");
  definition.gradient = TanhGradients;
  definition.flops = FlopsPerElement<10>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::tanh(x); }>;
  return definition;
}

}  // namespace cleave
