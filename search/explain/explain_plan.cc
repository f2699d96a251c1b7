#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "search/explain/classic_price.h"
#include "search/explain/collectives.h"
#include "search/explain/decisions.h"
#include "search/explain/explain.h"
#include "search/explain/overview.h"
#include "search/explain/table.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/cost.h"

namespace cleave::search {
namespace {

std::string PricesLine(const Explained& explained) {
  // The bytes that a manual model sends do not follow from layouts, so only its time is known.
  if (explained.graph.is_manual()) return absl::StrCat("time ", FormatSeconds(explained.predicted.step));
  const GraphFacts facts = FactsOf(explained.graph, explained.plan.micro_batches);
  return absl::StrCat("bytes ", CostText(PlanCost(facts, explained.plan).price, "bytes"), ", classic ",
                      CostText(ClassicPrice(facts, explained.plan), "classic"), ", time ",
                      FormatSeconds(explained.predicted.step));
}

std::string OpRowText(const DecidedOps& row, const ir::OpPlan& planned, double total) {
  const std::string count = row.names.size() > 1 ? absl::StrCat(" x ", row.names.size()) : "";
  const std::string name = absl::StrCat(Clipped(FoldedName(row.names), 42 - count.size()), count);
  const std::string share = row.cost == "-" ? "-" : Share(row.sum, total);
  const std::string& reason = planned.reason;
  return absl::StrCat(absl::StrFormat("%-42s %-32s%16s%8s\n", name, Clipped(row.cuts, 31), row.cost, share),
                      Wrapped(absl::StrCat("  by ", ir::DecidedByName(planned.decided_by), ": "),
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
  const std::vector<DecidedOps> rows = DecidedOpsOf(explained.graph, plan);
  double total = 0;
  for (const DecidedOps& row : rows) total += row.sum;
  absl::StrAppend(&text, absl::StrFormat("\n%-43s%-32s%16s%8s\n", "op", "cuts", "cost of each", "share"));
  for (const DecidedOps& row : rows) absl::StrAppend(&text, OpRowText(row, plan.ops[row.first], total));
  const std::string collectives = CollectiveTable(explained.made.program, [](const ir::Collective&) { return true; });
  absl::StrAppend(&text, "\n", collectives.empty() ? "no collectives\n" : collectives);
  return text;
}

}  // namespace cleave::search
