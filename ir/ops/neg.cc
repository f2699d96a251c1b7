#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients NegGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add("neg", {dy}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineNeg() {
  OpDefinition definition = UnaryOp("neg", "minus each element");
  definition.rule = FirstLinearRule;
  definition.gradient = NegGradients;
  definition.evaluate = EvaluateUnary<[](double x) { return -x; }>;
  return definition;
}

}  // namespace cleave
