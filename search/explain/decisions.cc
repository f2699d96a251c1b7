#include "search/explain/decisions.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "search/explain/table.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

// A product that a rule of the algorithm replicates, such as those outside of regions.
bool IsLeftWhole(const ir::Op& op, const ir::OpPlan& planned) {
  return planned.decided_by == ir::DecidedBy::kFallback && op.phase == ir::Phase::kForward &&
         ir::DefinitionOf(op).op_class == ir::OpClass::kProduct;
}

}  // namespace

const ir::Choice* ChosenOf(const ir::OpPlan& planned) {
  for (const ir::Choice& choice : planned.choices) {
    if (choice.chosen) return &choice;
  }
  return nullptr;
}

std::string PartsText(const ir::CostParts& parts, const std::string& price) {
  const std::vector<std::pair<std::string, double>> named = {
      {"inside", parts.inside},     {"inputs", parts.inputs},       {"output", parts.output},
      {"backward", parts.backward}, {"gradients", parts.gradients}, {"elsewhere", parts.elsewhere}};
  std::vector<std::string> words;
  for (const auto& [name, cost] : named) {
    const std::string text = CostText(cost, price);
    if (cost != 0 && text != "0") words.push_back(absl::StrCat(name, " ", text));
  }
  return absl::StrCat(words.empty() ? "nothing is sent" : absl::StrJoin(words, ", "), "; ",
                      Plural(parts.collectives, "collective"));
}

std::vector<DecidedOps> DecidedOpsOf(const ir::Graph& graph, const ir::Plan& plan) {
  std::vector<DecidedOps> rows;
  std::map<std::string, size_t> row_of;
  for (const ir::Op& op : graph.ops) {
    const ir::OpPlan& planned = plan.ops[op.id];
    const bool is_told =
        planned.decided_by == ir::DecidedBy::kPin || planned.choices.size() > 1 || IsLeftWhole(op, planned);
    if (!is_told) continue;
    const ir::Choice* chosen = ChosenOf(planned);
    const std::string cuts = CutsText(planned.strategy, ir::RuleOf(graph, op), plan.mesh);
    const std::string cost = chosen == nullptr ? "-" : CostText(chosen->cost, plan.search.price);
    const std::string key =
        absl::StrJoin({LayerNameOf(op.name).place, cuts, cost, std::string(ir::DecidedByName(planned.decided_by)),
                       FoldedText(planned.reason)},
                      "\n");
    const auto [found, is_new] = row_of.emplace(key, rows.size());
    if (is_new) rows.push_back({.names = {}, .first = op.id, .cuts = cuts, .cost = cost});
    DecidedOps& row = rows[found->second];
    row.names.push_back(op.name);
    if (chosen != nullptr) row.sum += chosen->cost;
  }
  return rows;
}

}  // namespace cleave::search
