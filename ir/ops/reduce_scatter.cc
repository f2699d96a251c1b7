// The sum of what the members of a group have, of which each rank gets its part.

#include "ir/ops/communicating.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferReduceScatter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, "axis")) return *error;
  if (auto error = CheckDivides(inputs, attributes, "axis")) return *error;
  TensorType output = inputs[0];
  output.shape[AxisOf(attributes, output.rank())] /= attributes.GetInt("size");
  return output;
}

Gradients ReduceScatterGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  std::map<std::string, AttributeValue> attributes = GroupAttributes(op);
  attributes["axis"] = op.attributes.GetInt("axis");
  return {builder.Add("all_gather", {dy}, std::move(attributes), GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineReduceScatter() {
  OpDefinition definition =
      GroupOp("reduce_scatter", "the rank's part, along a dimension, of the sum over the ranks of a group");
  definition.signature.push_back({.name = "axis", .kind = ArgumentKind::kInt});
  definition.infer = InferReduceScatter;
  definition.gradient = ReduceScatterGradients;
  return definition;
}

}  // namespace cleave
