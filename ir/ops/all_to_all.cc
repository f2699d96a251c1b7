// Every rank of a group cuts its tensor along one dimension, a part for each member, and joins the parts that it gets
// along another, in the order of the members.

#include <algorithm>

#include "ir/ops/communicating.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferAllToAll(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, "split_axis")) return *error;
  if (auto error = CheckDimension(inputs, attributes, "concat_axis")) return *error;
  if (auto error = CheckDivides(inputs, attributes, "split_axis")) return *error;
  TensorType output = inputs[0];
  const int64_t size = attributes.GetInt("size");
  output.shape[static_cast<size_t>(attributes.GetInt("split_axis"))] /= size;
  int64_t& joined = output.shape[static_cast<size_t>(attributes.GetInt("concat_axis"))];
  joined = CountUpToLimit({joined, std::min(size, kMaxElements)});
  return output;
}

// Every part goes back to where it came from.
Gradients AllToAllGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  std::map<std::string, AttributeValue> attributes = GroupAttributes(op);
  attributes["split_axis"] = op.attributes.GetInt("concat_axis");
  attributes["concat_axis"] = op.attributes.GetInt("split_axis");
  return {builder.Add("all_to_all", {dy}, std::move(attributes), GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineAllToAll() {
  OpDefinition definition =
      GroupOp("all_to_all", "a part along `split_axis` for each rank of a group, joined along `concat_axis`");
  definition.signature.push_back({.name = "split_axis", .kind = ArgumentKind::kInt});
  definition.signature.push_back({.name = "concat_axis", .kind = ArgumentKind::kInt});
  definition.infer = InferAllToAll;
  definition.gradient = AllToAllGradients;
  return definition;
}

}  // namespace cleave
