#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients AbsGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId sign = builder.Add(OpKind::kSign, {op.inputs[0]}, {}, GradientName(op, "x"));
  return {builder.Add(OpKind::kMul, {dy, sign}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineAbs() {
  OpDefinition definition = UnaryOp("each element without its sign");
  definition.gradient = AbsGradients;
  definition.evaluate = EvaluateUnary<[](double x) { return x < 0 ? -x : x; }>;
  return definition;
}

}  // namespace cleave
