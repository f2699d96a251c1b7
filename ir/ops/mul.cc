#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients MulGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  const OpId by_x = builder.Add(OpKind::kMul, {dy, op.inputs[1]}, {}, GradientName(op, "x"));
  const OpId by_y = builder.Add(OpKind::kMul, {dy, op.inputs[0]}, {}, GradientName(op, "y"));
  return {SumToType(builder, by_x, x, GradientName(op, "x")), SumToType(builder, by_y, y, GradientName(op, "y"))};
}

}  // namespace

OpDefinition DefineMul() {
  OpDefinition definition = BinaryOp("x * y, with broadcasting");
  definition.rule = EachLinearRule;
  definition.gradient = MulGradients;
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x * y; }>;
  return definition;
}

}  // namespace cleave
