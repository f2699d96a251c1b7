#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients AddGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  return {SumToType(builder, dy, x, GradientName(op, "x")), SumToType(builder, dy, y, GradientName(op, "y"))};
}

}  // namespace

OpDefinition DefineAdd() {
  OpDefinition definition = BinaryOp("x + y, with broadcasting");
  definition.rule = JointlyLinearRule;
  definition.gradient = AddGradients;
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x + y; }>;
  return definition;
}

}  // namespace cleave
