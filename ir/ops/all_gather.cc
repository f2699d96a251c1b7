// Every rank of a group gets the parts of all members, in the order of their numbers.

#include <algorithm>

#include "ir/manual/manual.h"
#include "ir/ops/communicating.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferAllGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, "axis")) return *error;
  TensorType output = inputs[0];
  // At most the limit each, so that the product does not overflow; InferChecked refuses the shape.
  int64_t& elements = output.shape[AxisOf(attributes, output.rank())];
  elements = CountUpToLimit({elements, std::min(attributes.GetInt("size"), kMaxElements)});
  return output;
}

// Each member takes its own part.
Gradients AllGatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.GetString("group"));
  const int64_t axis = op.attributes.GetInt("axis");
  const int64_t own = builder.type(op.inputs[0]).shape[static_cast<size_t>(axis)];
  const std::vector<int64_t> starts =
      RankTable(builder, [&](int64_t rank) { return own * GroupIndex(axes, group, rank); });
  return {builder.Add("rank_slice", {dy}, {{"axis", axis}, {"size", own}, {"starts", starts}}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineAllGather() {
  OpDefinition definition =
      GroupOp("all_gather", "the parts of all ranks of a group, one after another along a dimension");
  definition.signature.push_back({.name = "axis", .kind = ArgumentKind::kInt});
  definition.infer = InferAllGather;
  definition.gradient = AllGatherGradients;
  return definition;
}

}  // namespace cleave
