#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients NegGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kNeg, {dy}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineNeg() {
  OpDefinition definition = UnaryOp("minus each element");
  definition.rule = FirstLinearRule;
  definition.gradient = NegGradients;
  definition.evaluate = EvaluateUnary<[](double x) { return -x; }>;
  return definition;
}

}  // namespace cleave
