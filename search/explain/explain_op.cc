#include <algorithm>
#include <map>
#include <memory>
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
#include "search/explain/explain.h"
#include "search/explain/table.h"
#include "search/explain/what_if.h"
#include "search/knobs/regions/regions.h"
#include "search/model/facts/facts.h"
#include "search/model/pins/pins.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/alternatives.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

// The number of alternatives for which conditions are computed.
constexpr size_t kAsked = 3;

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

bool IsInSeconds(const Explained& explained) { return explained.plan.search.price == "time"; }

// The plan as an assignment; nullptr where the plan does not follow from its forward ops (because it was edited, or its
// optimizer is sharded).
std::unique_ptr<Assignment> AssignmentOf(const Explained& explained, const GraphFacts& facts) {
  const ir::Plan& plan = explained.plan;
  Diagnostics ignored;
  const std::optional<OpDemands> demands = ResolvePins(facts, plan.mesh, explained.pins, ignored);
  if (!demands.has_value()) return nullptr;
  AssignmentOptions options{.gradient_weight = plan.gradient_weight, .dataset = std::nullopt};
  if (IsInSeconds(explained)) {
    options.prices = TimePrices(facts, explained.cluster, plan.mesh, explained.execution.fuse);
    options.prices.may_leave_idle =
        MayLeaveIdle(explained.graph, plan.mesh.rank_count(), plan.micro_batches, explained.pins.settings.leave_idle);
  }
  if (explained.pins.settings.dataset_given) options.dataset = explained.pins.settings.dataset;
  OpDemands held = *demands;
  if (!explained.pins.regions.empty()) {
    if (!options.dataset.has_value()) options.dataset = ir::DatasetLayout::kFullBatch;
    held = HeldDemands(
        {.facts = facts, .demands = *demands, .pins = explained.pins, .outside = explained.pins.settings.outside});
  }
  auto assignment = std::make_unique<Assignment>(facts, plan.mesh, options, held);
  std::vector<Change> changes;
  for (ir::OpId op : facts.set_ops) changes.push_back({op, plan.ops[op].strategy});
  assignment->Apply(changes);
  for (const ir::Op& op : explained.graph.ops) {
    if (facts.roles[op.id] == Role::kAside || facts.is_unread_data(op.id)) continue;
    if (!(assignment->strategy(op.id) == plan.ops[op.id].strategy)) return nullptr;
  }
  return assignment;
}

// What would have to change for the next choices to be better: under the price `time` in seconds, else in bytes.
std::string Conditions(const Explained& explained, const ir::Op& op) {
  if (explained.plan.ops[op.id].choices.size() < 2) return "";
  const bool is_in_seconds = IsInSeconds(explained);
  const GraphFacts facts = FactsOf(explained.graph, explained.plan.micro_batches);
  const std::unique_ptr<Assignment> assignment = AssignmentOf(explained, facts);
  if (assignment == nullptr) {
    return "\nwhat would have to change is not known: this plan does not follow from its forward ops alone\n";
  }
  const Bundles bundles = FindBundles(facts);
  std::string text;
  size_t asked = 0;
  for (const Alternative& other : Alternatives(*assignment, bundles).OthersFor(op.id)) {
    if (asked++ == kAsked) break;
    const WhatIf what_if(*assignment, other.changes, is_in_seconds ? std::optional(explained.cluster) : std::nullopt);
    const double more = what_if.Now();
    std::vector<std::string> conditions = what_if.Conditions();
    if (more < 0) conditions = {"now"};
    if (conditions.empty()) conditions = {"with no gradient_weight and at no speed of a link"};
    const std::string cuts = CutsText(other.choice.strategy, facts.rule(op.id), explained.plan.mesh);
    absl::StrAppend(&text,
                    Wrapped("  ", absl::StrCat("`", cuts, "` costs less ", absl::StrJoin(conditions, ", or ")), 4));
  }
  return text.empty() ? ""
                      : absl::StrCat("\nwhat would have to change, in ", is_in_seconds ? "time" : "bytes", "\n", text);
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
