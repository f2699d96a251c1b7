#include "ir/ops/verify_manual.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/manual/manual.h"
#include "ir/ops/ops.h"

namespace cleave {
namespace {

std::string FindGroupError(const Graph& graph, const Op& op) {
  const std::string& text = op.attributes.GetString("group");
  const std::optional<RankAxisSet> group = ParseGroup(graph.rank_axes, text);
  if (!group.has_value()) return absl::StrCat("no group `", text, "`");
  const int64_t size = GroupSize(graph.rank_axes, *group);
  if (size == op.attributes.GetInt("size")) return "";
  return absl::StrCat("group `", text, "` has ", Plural(size, "rank"), ", not ", op.attributes.GetInt("size"));
}

// A table with `row` entries for each rank.
std::string FindTableError(const Graph& graph, size_t entries, size_t row) {
  const int64_t ranks = RankCount(graph.rank_axes);
  if (entries == static_cast<size_t>(ranks) * row) return "";
  return absl::StrCat("a table of ", entries, " for ", Plural(ranks, "rank"));
}

}  // namespace

std::string FindRankError(const Graph& graph, const Op& op) {
  const bool local = (op.kind == "parameter" || op.kind == "state") && op.attributes.GetBool("local");
  if (!graph.is_manual()) {
    if (local) return "it is local in a model without ranks";
    return DefinitionOf(op).rank_use == RankUse::kNone ? "" : "it speaks of ranks in a model without ranks";
  }
  const Attributes& attributes = op.attributes;
  if (attributes.Has("group")) return FindGroupError(graph, op);
  if (op.kind == "rank_value") return FindTableError(graph, attributes.GetDoubles("values").size(), 1);
  if (attributes.Has("starts")) return FindTableError(graph, attributes.GetInts("starts").size(), 1);
  if (attributes.Has("send_ranks")) {
    return FindTableError(graph, attributes.GetInts("send_ranks").size(), attributes.GetInts("send_sizes").size());
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
