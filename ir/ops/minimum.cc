// Where x and y are equal the gradient goes to x alone.

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

// A value that is not a number stays one.
double Minimum(double x, double y) { return y < x || y != y ? y : x; }

Gradients MinimumGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType x = builder.type(op.inputs[0]);
  const TensorType y = builder.type(op.inputs[1]);
  const std::string name_x = GradientName(op, "x");
  const std::string name_y = GradientName(op, "y");
  const OpId is_x = builder.Add(OpKind::kEqual, {op.inputs[0], op.id}, {}, name_x);
  const OpId is_y = builder.Add(OpKind::kNotEqual, {op.inputs[0], op.id}, {}, name_y);
  const OpId by_x = builder.Add(OpKind::kMul, {dy, is_x}, {}, name_x);
  const OpId by_y = builder.Add(OpKind::kMul, {dy, is_y}, {}, name_y);
  return {SumToType(builder, by_x, x, name_x), SumToType(builder, by_y, y, name_y)};
}

}  // namespace

OpDefinition DefineMinimum() {
  OpDefinition definition = BinaryOp("the smaller of x and y, with broadcasting");
  definition.gradient = MinimumGradients;
  definition.evaluate = EvaluateBinary<Minimum>;
  return definition;
}

}  // namespace cleave
