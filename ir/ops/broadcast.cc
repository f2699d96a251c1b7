// Every rank of a group gets what one member has.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/manual/manual.h"
#include "ir/ops/communicating.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferBroadcastFrom(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  const int64_t root = attributes.GetInt("root");
  const int64_t size = attributes.GetInt("size");
  if (root >= 0 && root < size) return inputs[0];
  return OpError{.code = Code::kE0709,
                 .message = absl::StrCat("`root` is ", root, " in a group of ", Plural(size, "rank")),
                 .about = {},
                 .help = {absl::StrCat("the members of the group are 0 to ", size - 1)}};
}

// All of it at the root, nothing elsewhere.
Gradients BroadcastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.GetString("group"));
  std::vector<double> is_root;
  for (int64_t rank = 0; rank < RankCount(axes); ++rank) {
    is_root.push_back(GroupIndex(axes, group, rank) == op.attributes.GetInt("root") ? 1 : 0);
  }
  const OpId share = builder.Add("rank_value", {}, {{"values", is_root}}, GradientName(op, "root"));
  return {builder.Add("mul", {dy, share}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineBroadcast() {
  OpDefinition definition = GroupOp("broadcast", "what member `root` of a group has");
  definition.signature.push_back({.name = "root", .kind = ArgumentKind::kInt, .default_value = int64_t{0}});
  definition.infer = InferBroadcastFrom;
  definition.gradient = BroadcastGradients;
  return definition;
}

}  // namespace cleave
