// Every rank of a group cuts its tensor along one dimension, a part for each member, and joins the parts that it gets
// along another, in the order of the members.

#include <algorithm>

#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

InferResult InferAllToAll(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kSplitAxis)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kConcatAxis)) return *error;
  if (auto error = CheckDivides(inputs, attributes, attribute::kSplitAxis)) return *error;
  TensorType output = inputs[0];
  const int64_t size = attributes.Get(attribute::kSize);
  output.shape[static_cast<size_t>(attributes.Get(attribute::kSplitAxis))] /= size;
  int64_t& joined = output.shape[static_cast<size_t>(attributes.Get(attribute::kConcatAxis))];
  joined = CountUpToLimit({joined, std::min(size, kMaxElements)});
  return output;
}

// Every part goes back to where it came from.
Gradients AllToAllGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = GroupAttributes(op);
  attributes.Set(attribute::kSplitAxis, op.attributes.Get(attribute::kConcatAxis));
  attributes.Set(attribute::kConcatAxis, op.attributes.Get(attribute::kSplitAxis));
  return {builder.Add(OpKind::kAllToAll, {dy}, std::move(attributes), GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineAllToAll() {
  OpDefinition definition = GroupOp("a part along `split_axis` for each rank of a group, joined along `concat_axis`");
  definition.signature.push_back(RequiredAttribute(attribute::kSplitAxis));
  definition.signature.push_back(RequiredAttribute(attribute::kConcatAxis));
  definition.infer = InferAllToAll;
  definition.gradient = AllToAllGradients;
  return definition;
}

}  // namespace cleave
