// The sum of what the members of a group have, of which each rank gets its part.

#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

InferResult InferReduceScatter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kAxis)) return *error;
  if (auto error = CheckDivides(inputs, attributes, attribute::kAxis)) return *error;
  TensorType output = inputs[0];
  output.shape[AxisOf(attributes, output.rank())] /= attributes.Get(attribute::kSize);
  return output;
}

Gradients ReduceScatterGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = GroupAttributes(op);
  attributes.Set(attribute::kAxis, op.attributes.Get(attribute::kAxis));
  return {builder.Add(OpKind::kAllGather, {dy}, std::move(attributes), GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineReduceScatter() {
  OpDefinition definition = GroupOp("the rank's part, along a dimension, of the sum over the ranks of a group");
  definition.signature.push_back(RequiredAttribute(attribute::kAxis));
  definition.infer = InferReduceScatter;
  definition.gradient = ReduceScatterGradients;
  return definition;
}

}  // namespace cleave
