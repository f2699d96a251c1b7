// Every rank of a group gets what one member has.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/manual/manual.h"
#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

InferResult InferBroadcastFrom(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  const int64_t root = attributes.Get(attribute::kRoot);
  const int64_t size = attributes.Get(attribute::kSize);
  if (root >= 0 && root < size) return inputs[0];
  return OpError{.code = Code::kE0709,
                 .message = absl::StrCat("`root` is ", root, " in a group of ", Plural(size, "rank")),
                 .about = {},
                 .help = {absl::StrCat("the members of the group are 0 to ", size - 1)}};
}

// All of it at the root, nothing elsewhere.
Gradients BroadcastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.Get(attribute::kGroup));
  std::vector<double> is_root;
  for (int64_t rank = 0; rank < RankCount(axes); ++rank) {
    is_root.push_back(GroupIndex(axes, group, rank) == op.attributes.Get(attribute::kRoot) ? 1 : 0);
  }
  const OpId share = builder.Add(OpKind::kRankValue, {}, {{attribute::kValues, is_root}}, GradientName(op, "root"));
  return {builder.Add(OpKind::kMul, {dy, share}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineBroadcast() {
  OpDefinition definition = GroupOp("what member `root` of a group has");
  definition.signature.push_back(OptionalAttribute(attribute::kRoot, 0));
  definition.infer = InferBroadcastFrom;
  definition.gradient = BroadcastGradients;
  return definition;
}

}  // namespace cleave
