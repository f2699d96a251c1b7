#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients ReluGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kReluGradient, {dy, op.id}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineRelu() {
  OpDefinition definition = UnaryOp("each element, or 0 where it is negative");
  definition.gradient = ReluGradients;
  definition.evaluate = EvaluateUnary<[](double x) { return x < 0 ? 0 : x; }>;
  return definition;
}

}  // namespace cleave
