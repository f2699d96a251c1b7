#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients SubGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  const OpId negative = builder.Add(OpKind::kNeg, {dy}, {}, GradientName(op, "y"));
  return {SumToType(builder, dy, x, GradientName(op, "x")), SumToType(builder, negative, y, GradientName(op, "y"))};
}

}  // namespace

OpDefinition DefineSub() {
  OpDefinition definition = BinaryOp("x - y, with broadcasting");
  definition.rule = JointlyLinearRule;
  definition.gradient = SubGradients;
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x - y; }>;
  return definition;
}

}  // namespace cleave
