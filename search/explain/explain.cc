#include "search/explain/explain.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/layout/layout.h"
#include "ir/ops/ops.h"
#include "ir/strategy/strategy.h"

namespace cleave {
namespace {

constexpr size_t kColumns = 100;

// `text` behind `head`, in lines of at most kColumns; every line but the first is indented.
std::string Wrapped(const std::string& head, const std::string& text, size_t indent) {
  std::string result, line = head;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&result, line, "\n");
      line = std::string(indent, ' ');
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    absl::StrAppend(&line, word);
  }
  return absl::StrCat(result, line, "\n");
}

std::string Clipped(const std::string& text, size_t width) {
  return text.size() <= width ? text : absl::StrCat(text.substr(0, width - 3), "...");
}

// "i: m0 m1, k: m2", or "whole" when nothing is cut.
std::string CutsText(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  std::vector<std::string> cuts;
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    if (strategy.cuts[factor].empty()) continue;
    const std::string axes = absl::StrJoin(
        strategy.cuts[factor], " ", [&](std::string* out, AxisId axis) { absl::StrAppend(out, mesh.axis(axis).name); });
    cuts.push_back(absl::StrCat(rule.factors[factor].name, ": ", axes));
  }
  return cuts.empty() ? "whole" : absl::StrJoin(cuts, ", ");
}

const Choice* ChosenOf(const OpPlan& planned) {
  const auto chosen =
      std::find_if(planned.choices.begin(), planned.choices.end(), [](const Choice& c) { return c.chosen; });
  return chosen == planned.choices.end() ? nullptr : &*chosen;
}

std::string Share(double part, double whole) { return whole > 0 ? absl::StrFormat("%.1f%%", 100 * part / whole) : "-"; }

std::string CollectiveLine(const Program& program, const Step& step, const Collective& collective, double total) {
  const std::string axes = absl::StrJoin(
      collective.axes, " ", [&](std::string* out, AxisId axis) { absl::StrAppend(out, program.mesh.axis(axis).name); });
  const double sent = SentBytes(program, collective);
  const std::string head =
      absl::StrFormat("%-15s%-9s%-12s%11s%8s%5d  ", CollectiveKindName(collective.kind), PhaseName(step.phase),
                      Clipped(axes, 11), FormatBytes(Bytes(static_cast<int64_t>(sent))), Share(sent, total), step.line);
  return absl::StrCat(head, Clipped(collective.why, kColumns - head.size()), "\n");
}

// The collectives of a training step that `wanted` accepts, as a table; empty when there are none.
template <typename Wanted>
std::string CollectiveTable(const Program& program, const Wanted& wanted) {
  double total = 0;
  for (const Step& step : program.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective != nullptr && step.phase != Phase::kMetric) total += SentBytes(program, *collective);
  }
  std::string lines;
  for (const Step& step : program.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || step.phase == Phase::kMetric || !wanted(*collective)) continue;
    absl::StrAppend(&lines, CollectiveLine(program, step, *collective, total));
  }
  if (lines.empty()) return "";
  return absl::StrCat(absl::StrFormat("%-15s%-9s%-12s%11s%8s%5s  %s\n", "collective", "phase", "axes", "sent/rank",
                                      "share", "line", "why"),
                      lines);
}

}  // namespace

std::string ExplainPlan(const Graph& graph, const Plan& plan, const Program& program) {
  std::string text = Wrapped(
      "",
      absl::StrCat(graph.model, " on ", Plural(plan.mesh.rank_count(), "rank"), " (",
                   plan.mesh.axis_count() == 0 ? "no mesh" : plan.mesh.ToString(), "): ", plan.search.algorithm,
                   " under the price ", plan.search.price,
                   plan.search.zero > 0 ? absl::StrCat(", zero = ", plan.search.zero) : "", ", cost ", absl::StrFormat("%.1f", plan.search.cost)),
      2);
  absl::StrAppend(&text, absl::StrFormat("\n%-40s%-36s%16s%8s\n", "op", "cuts", "cost", "share"));
  double total = 0;
  for (const OpPlan& planned : plan.ops) {
    if (const Choice* chosen = ChosenOf(planned)) total += chosen->cost;
  }
  for (const Op& op : graph.ops) {
    const OpPlan& planned = plan.ops[op.id];
    // What follows from another op's decision, or had nothing to decide, is left to --explain OP.
    if (planned.decided_by != DecidedBy::kPin && planned.choices.size() < 2) continue;
    const Choice* chosen = ChosenOf(planned);
    const std::string cuts = CutsText(planned.strategy, RuleOf(graph, op), plan.mesh);
    const std::string cost = chosen == nullptr ? "-" : absl::StrFormat("%.1f", chosen->cost);
    const std::string share = chosen == nullptr ? "-" : Share(chosen->cost, total);
    absl::StrAppend(&text,
                    absl::StrFormat("%-39s %-35s %16s%8s\n", Clipped(op.name, 39), Clipped(cuts, 35), cost, share),
                    Wrapped(absl::StrCat("  by ", DecidedByName(planned.decided_by), ": "), planned.reason, 4));
  }
  const std::string collectives = CollectiveTable(program, [](const Collective&) { return true; });
  absl::StrAppend(&text, "\n", collectives.empty() ? "no collectives\n" : collectives);
  return text;
}

absl::StatusOr<std::string> ExplainOp(const Graph& graph, const Plan& plan, const Distributed& distributed,
                                      const Program& program, absl::string_view name) {
  const std::optional<OpId> id = graph.Find(name);
  if (!id.has_value()) {
    std::vector<std::string> names;
    for (const Op& op : graph.ops) names.push_back(op.name);
    const std::optional<std::string> nearest = NearestName(name, names);
    return absl::NotFoundError(absl::StrCat(
        "no op `", name, "`", nearest.has_value() ? absl::StrCat(", did you mean `", *nearest, "`?") : ""));
  }
  const Op& op = graph.op(*id);
  const OpPlan& planned = plan.ops[*id];
  const Rule rule = RuleOf(graph, op);
  const std::string in_strategy = InStrategyText(InStrategy(planned.strategy, rule, plan.mesh));
  std::string text =
      absl::StrCat(op.name, ": ", op.type.ToString(), ", ", op.kind, " (", rule.ToString(), "), line ", op.line, "\n");
  absl::StrAppend(&text, "  cuts        ", CutsText(planned.strategy, rule, plan.mesh), "\n");
  if (!op.inputs.empty()) absl::StrAppend(&text, "  in_strategy ", in_strategy, "\n");
  absl::StrAppend(&text, "  value       ",
                  LayoutText(planned.output.value_or(OutputLayout(planned.strategy, rule)), plan.mesh), "\n");
  absl::StrAppend(&text,
                  Wrapped(absl::StrCat("  decided by  ", DecidedByName(planned.decided_by), ": "), planned.reason, 14));
  if (const Choice* chosen = ChosenOf(planned)) {
    absl::StrAppend(&text, "\n", absl::StrFormat("  %-40s%16s%12s\n", "choice", "cost", "x chosen"));
    for (const Choice& choice : planned.choices) {
      const std::string ratio = chosen->cost > 0 ? absl::StrFormat("%.2f", choice.cost / chosen->cost) : "-";
      absl::StrAppend(&text, absl::StrFormat("%s %-40s%16.1f%12s\n", choice.chosen ? "*" : " ",
                                             Clipped(CutsText(choice.strategy, rule, plan.mesh), 39), choice.cost,
                                             choice.chosen ? "1" : ratio));
    }
  }
  const std::string collectives = CollectiveTable(program, [&](const Collective& collective) {
    return std::any_of(collective.transfers.begin(), collective.transfers.end(),
                       [&](const Transfer& transfer) {
                         return distributed.originals[program.value(transfer.input).origin] == *id;
                       });
  });
  if (!collectives.empty()) absl::StrAppend(&text, "\n", collectives);
  return text;
}

}  // namespace cleave
