#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients DivGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  // d (x / y) = dx / y - (x / y) / y dy
  const OpId by_x = builder.Add(OpKind::kDiv, {dy, op.inputs[1]}, {}, GradientName(op, "x"));
  const OpId product = builder.Add(OpKind::kMul, {by_x, op.id}, {}, GradientName(op, "y"));
  const OpId by_y = builder.Add(OpKind::kNeg, {product}, {}, GradientName(op, "y"));
  return {SumToType(builder, by_x, x, GradientName(op, "x")), SumToType(builder, by_y, y, GradientName(op, "y"))};
}

}  // namespace

OpDefinition DefineDiv() {
  OpDefinition definition = BinaryOp("x / y, with broadcasting");
  definition.rule = FirstLinearRule;
  definition.gradient = DivGradients;
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x / y; }>;
  return definition;
}

}  // namespace cleave
