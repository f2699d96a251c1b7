#include "ir/ops/verify_manual.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/manual/manual.h"
#include "ir/ops/ops.h"

namespace cleave {
namespace {

std::string FindGroupError(const Graph& graph, const Op& op) {
  const std::string& text = op.attributes.Get(attribute::kGroup);
  const std::optional<RankAxisSet> group = ParseGroup(graph.rank_axes, text);
  if (!group.has_value()) return absl::StrCat("no group `", text, "`");
  const int64_t size = GroupSize(graph.rank_axes, *group);
  if (size == op.attributes.Get(attribute::kSize)) return "";
  return absl::StrCat("group `", text, "` has ", Plural(size, "rank"), ", not ", op.attributes.Get(attribute::kSize));
}

// A table with `row` entries for each rank.
std::string FindTableError(const Graph& graph, size_t entries, size_t row) {
  const int64_t ranks = RankCount(graph.rank_axes);
  if (entries == static_cast<size_t>(ranks) * row) return "";
  return absl::StrCat("a table of ", entries, " for ", Plural(ranks, "rank"));
}

}  // namespace

std::string FindRankError(const Graph& graph, const Op& op) {
  const bool local =
      (op.kind == OpKind::kParameter || op.kind == OpKind::kState) && op.attributes.Get(attribute::kLocal);
  if (!graph.is_manual()) {
    if (local) return "it is local in a model without ranks";
    return DefinitionOf(op).rank_use == RankUse::kNone ? "" : "it speaks of ranks in a model without ranks";
  }
  const Attributes& attributes = op.attributes;
  if (attributes.Has(attribute::kGroup)) return FindGroupError(graph, op);
  if (op.kind == OpKind::kRankValue) return FindTableError(graph, attributes.Get(attribute::kValues).size(), 1);
  if (attributes.Has(attribute::kStarts)) return FindTableError(graph, attributes.Get(attribute::kStarts).size(), 1);
  if (attributes.Has(attribute::kSendRanks)) {
    return FindTableError(graph, attributes.Get(attribute::kSendRanks).size(),
                          attributes.Get(attribute::kSendSizes).size());
  }
  return "";
}

std::vector<std::string> FindVarianceErrors(const Graph& graph) {
  const IdVector<OpId, RankAxisSet> variance = VarianceOf(graph);
  std::vector<std::string> errors;
  if (graph.loss.has_value() && !variance[*graph.loss].empty()) {
    errors.push_back(absl::StrCat("the loss ", VarianceText(graph.rank_axes, variance[*graph.loss])));
  }
  for (const StateUpdate& update : graph.updates) {
    if (variance[update.state].Contains(variance[update.value])) continue;
    errors.push_back(absl::StrCat("update of ", graph.op(update.state).name, " by a value that ",
                                  VarianceText(graph.rank_axes, variance[update.value])));
  }
  return errors;
}

}  // namespace cleave
