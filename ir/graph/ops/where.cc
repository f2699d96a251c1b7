// A choice for each element. It is linear in both alternatives together: for a fixed condition, a partial sum of a and
// one of b give one of the result.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferWhere(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "condition")) return *error;
  if (auto error = CheckOneDType(inputs, 1, "a", 2, "b")) return *error;
  return InferBroadcast(inputs, ElementwiseDType(inputs.subspan(1)));
}

// It is written as products with 1 or 0, because these are linear in dy, unlike a choice between dy and zero.
Gradients WhereGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  if (op.type.dtype != DType::kF32) return ZeroGradients(builder, op, dy);
  const OpId condition = op.inputs[0];
  const TensorType a = builder.type(op.inputs[1]);
  const TensorType b = builder.type(op.inputs[2]);
  const std::string name_a = GradientName(op, "a");
  const std::string name_b = GradientName(op, "b");
  const OpId zero = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}}, GradientName(op, "zero"));
  const OpId takes_a = builder.Add(OpKind::kNotEqual, {condition, zero}, {}, name_a);
  const OpId takes_b = builder.Add(OpKind::kEqual, {condition, zero}, {}, name_b);
  const OpId by_a = builder.Add(OpKind::kMul, {dy, takes_a}, {}, name_a);
  const OpId by_b = builder.Add(OpKind::kMul, {dy, takes_b}, {}, name_b);
  return {std::nullopt, SumToType(builder, by_a, a, name_a), SumToType(builder, by_b, b, name_b)};
}

}  // namespace

OpDefinition DefineWhere() {
  const Scalar condition = Variable("condition"), a = Variable("a"), b = Variable("b");
  OpDefinition definition =
      ElementwiseOp({.parameters = {"condition", "a", "b"}, .value = Select(condition, a, b)},
                    {{.name = "condition"}, {.name = "a", .takes_number = true}, {.name = "b", .takes_number = true}},
                    "a where the condition is not 0, else b, with broadcasting");
  definition.infer = InferWhere;
  definition.gradient = WhereGradients;
  definition.batch = BatchBroadcasting;
  return definition;
}

}  // namespace cleave::ir
