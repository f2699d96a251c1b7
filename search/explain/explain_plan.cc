#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/graph/ops/ops.h"
#include "search/explain/classic_price.h"
#include "search/explain/collectives.h"
#include "search/explain/explain.h"
#include "search/explain/overview.h"
#include "search/explain/table.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/cost.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

// Ops of equal layers that were decided in the same way.
struct OpRow {
  std::vector<std::string> names;
  const ir::OpPlan* planned = nullptr;  // Of the first.
  std::string cuts, cost;
  double sum = 0;  // Of the costs.
};

const ir::Choice* ChosenOf(const ir::OpPlan& planned) {
  for (const ir::Choice& choice : planned.choices) {
    if (choice.chosen) return &choice;
  }
  return nullptr;
}

std::string PricesLine(const Explained& explained) {
  // The bytes that a manual model sends do not follow from layouts, so only its time is known.
  if (explained.graph.is_manual()) return absl::StrCat("time ", FormatSeconds(explained.predicted.step));
  const GraphFacts facts = FactsOf(explained.graph, explained.plan.micro_batches);
  return absl::StrCat("bytes ", CostText(PlanCost(facts, explained.plan).price, "bytes"), ", classic ",
                      CostText(ClassicPrice(facts, explained.plan), "classic"), ", time ",
                      FormatSeconds(explained.predicted.step));
}

// A product that a rule of the algorithm replicates, such as those outside of regions.
bool IsLeftWhole(const ir::Op& op, const ir::OpPlan& planned) {
  return planned.decided_by == ir::DecidedBy::kFallback && op.phase == ir::Phase::kForward &&
         ir::DefinitionOf(op).op_class == ir::OpClass::kProduct;
}

// The ops that were decided by themselves. Ops that follow from others, or had only one choice, are left to ExplainOp.
std::vector<OpRow> RowsOf(const ir::Graph& graph, const ir::Plan& plan) {
  std::vector<OpRow> rows;
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
    if (is_new) rows.push_back({.names = {}, .planned = &planned, .cuts = cuts, .cost = cost});
    OpRow& row = rows[found->second];
    row.names.push_back(op.name);
    if (chosen != nullptr) row.sum += chosen->cost;
  }
  return rows;
}

std::string OpRowText(const OpRow& row, double total) {
  const std::string count = row.names.size() > 1 ? absl::StrCat(" x ", row.names.size()) : "";
  const std::string name = absl::StrCat(Clipped(FoldedName(row.names), 42 - count.size()), count);
  const std::string share = row.cost == "-" ? "-" : Share(row.sum, total);
  const std::string& reason = row.planned->reason;
  return absl::StrCat(absl::StrFormat("%-42s %-32s%16s%8s\n", name, Clipped(row.cuts, 31), row.cost, share),
                      Wrapped(absl::StrCat("  by ", ir::DecidedByName(row.planned->decided_by), ": "),
                              row.names.size() > 1 ? FoldedText(reason) : reason, 4));
}

}  // namespace

std::string ExplainPlan(const Explained& explained) {
  const ir::Plan& plan = explained.plan;
  std::string text = absl::StrCat(explained.graph.model, " on ", Plural(plan.mesh.rank_count(), "rank"), " of ",
                                  plan.cluster, ", ", plan.search.algorithm,
                                  plan.search.zero > 0 ? absl::StrCat(", zero = ", plan.search.zero) : "", "\n");
  absl::StrAppend(&text, PlanOverview(explained.made, explained.predicted));
  absl::StrAppend(&text, Wrapped("  cost      ", CostLine(plan), 12));
  absl::StrAppend(&text, Wrapped("  prices    ", PricesLine(explained), 12));
  const std::vector<OpRow> rows = RowsOf(explained.graph, plan);
  double total = 0;
  for (const OpRow& row : rows) total += row.sum;
  absl::StrAppend(&text, absl::StrFormat("\n%-43s%-32s%16s%8s\n", "op", "cuts", "cost of each", "share"));
  for (const OpRow& row : rows) absl::StrAppend(&text, OpRowText(row, total));
  const std::string collectives = CollectiveTable(explained.made.program, [](const ir::Collective&) { return true; });
  absl::StrAppend(&text, "\n", collectives.empty() ? "no collectives\n" : collectives);
  return text;
}

}  // namespace cleave::search
