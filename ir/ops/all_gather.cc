// Every rank of a group gets the parts of all members, in the order of their numbers.

#include <algorithm>

#include "ir/manual/manual.h"
#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

InferResult InferAllGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kAxis)) return *error;
  TensorType output = inputs[0];
  // At most the limit each, so that the product does not overflow; InferChecked refuses the shape.
  int64_t& elements = output.shape[AxisOf(attributes, output.rank())];
  elements = CountUpToLimit({elements, std::min(attributes.Get(attribute::kSize), kMaxElements)});
  return output;
}

// Each member takes its own part.
Gradients AllGatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.Get(attribute::kGroup));
  const int64_t axis = op.attributes.Get(attribute::kAxis);
  const int64_t own = builder.type(op.inputs[0]).shape[static_cast<size_t>(axis)];
  const std::vector<int64_t> starts =
      RankTable(builder, [&](int64_t rank) { return own * GroupIndex(axes, group, rank); });
  return {builder.Add(OpKind::kRankSlice, {dy},
                      {{attribute::kAxis, axis}, {attribute::kSize, own}, {attribute::kStarts, starts}},
                      GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineAllGather() {
  OpDefinition definition = GroupOp("the parts of all ranks of a group, one after another along a dimension");
  definition.signature.push_back(RequiredAttribute(attribute::kAxis));
  definition.infer = InferAllGather;
  definition.gradient = AllGatherGradients;
  return definition;
}

}  // namespace cleave
