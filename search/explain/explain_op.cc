#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/layout/layout.h"
#include "search/explain/collectives.h"
#include "search/explain/decisions.h"
#include "search/explain/explain.h"
#include "search/explain/table.h"
#include "search/explain/why_not.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

absl::Status UnknownOp(const ir::Graph& graph, absl::string_view name) {
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) names.push_back(op.name);
  const std::optional<std::string> nearest = NearestName(name, names);
  return absl::NotFoundError(
      absl::StrCat("no op `", name, "`", nearest.has_value() ? absl::StrCat(", did you mean `", *nearest, "`?") : ""));
}

std::string Facts(const Explained& explained, const ir::Op& op) {
  const ir::Plan& plan = explained.plan;
  const ir::OpPlan& planned = plan.ops[op.id];
  const ir::Rule rule = ir::RuleOf(explained.graph, op);
  std::string text = Wrapped("",
                             absl::StrCat(op.name, ": ", op.type.ToString(), ", ", ir::OpKindName(op.kind), " (",
                                          rule.ToString(), "), line ", op.line),
                             2);
  absl::StrAppend(&text, Wrapped("  cuts        ", CutsText(planned.strategy, rule, plan.mesh), 14));
  if (!op.inputs.empty()) {
    absl::StrAppend(
        &text, Wrapped("  in_strategy ", ir::InStrategyText(ir::InStrategy(planned.strategy, rule, plan.mesh)), 14));
  }
  const ir::Layout layout = planned.output.value_or(ir::OutputLayout(planned.strategy, rule));
  absl::StrAppend(&text, Wrapped("  value       ", ir::LayoutText(layout, plan.mesh), 14));
  return absl::StrCat(
      text, Wrapped(absl::StrCat("  decided by  ", ir::DecidedByName(planned.decided_by), ": "), planned.reason, 14));
}

std::string ChoiceTable(const std::vector<ir::Choice>& choices, const ir::Rule& rule, const ir::Plan& plan) {
  const auto chosen =
      std::find_if(choices.begin(), choices.end(), [](const ir::Choice& choice) { return choice.chosen; });
  std::string text = absl::StrFormat("  %-52s%20s%12s\n", "choice", "cost", "x chosen");
  for (const ir::Choice& choice : choices) {
    const bool has_ratio = chosen != choices.end() && chosen->cost > 0;
    const std::string ratio = choice.chosen ? "1"
                              : has_ratio   ? absl::StrFormat("%.2f", choice.cost / chosen->cost)
                                            : "-";
    absl::StrAppend(&text, absl::StrFormat("%s %-52s%20s%12s\n", choice.chosen ? "*" : " ",
                                           Clipped(CutsText(choice.strategy, rule, plan.mesh), 51),
                                           CostText(choice.cost, plan.search.price), ratio));
    if (choice.parts.has_value()) {
      absl::StrAppend(&text, Wrapped("    ", PartsText(*choice.parts, plan.search.price), 4));
    }
  }
  return text;
}

// What would have to change for the next choices to be better: under the price `time` in seconds, else in bytes.
std::string Conditions(const Explained& explained, const ir::Op& op) {
  if (explained.plan.ops[op.id].choices.size() < 2) return "";
  WhyNot why_not(explained);
  if (!why_not.is_known()) {
    return "\nwhat would have to change is not known: this plan does not follow from its forward ops alone\n";
  }
  const ir::Rule rule = ir::RuleOf(explained.graph, op);
  std::string text;
  for (const OtherChoice& other : why_not.OthersFor(op.id)) {
    const std::string cuts = CutsText(other.strategy, rule, explained.plan.mesh);
    absl::StrAppend(
        &text, Wrapped("  ", absl::StrCat("`", cuts, "` costs less ", absl::StrJoin(other.conditions, ", or ")), 4));
  }
  return text.empty() ? ""
                      : absl::StrCat("\nwhat would have to change, in ", IsInSeconds(explained.plan) ? "time" : "bytes",
                                     "\n", text);
}

}  // namespace

absl::StatusOr<std::string> ExplainOp(const Explained& explained, absl::string_view name) {
  const std::optional<ir::OpId> id = explained.graph.Find(name);
  if (!id.has_value()) return UnknownOp(explained.graph, name);
  const ir::Op& op = explained.graph.op(*id);
  std::string text = Facts(explained, op);
  const std::vector<ir::Choice>& choices = explained.plan.ops[*id].choices;
  if (!choices.empty()) {
    absl::StrAppend(&text, "\n", ChoiceTable(choices, ir::RuleOf(explained.graph, op), explained.plan));
  }
  absl::StrAppend(&text, Conditions(explained, op));
  const auto& originals = explained.made.distributed.originals;
  const std::string collectives = CollectiveTable(explained.made.program, [&](const ir::Collective& collective) {
    return std::any_of(collective.transfers.begin(), collective.transfers.end(), [&](const ir::Transfer& transfer) {
      return originals[explained.made.program.value(transfer.input).origin] == *id;
    });
  });
  if (!collectives.empty()) absl::StrAppend(&text, "\n", collectives);
  return text;
}

}  // namespace cleave::search
