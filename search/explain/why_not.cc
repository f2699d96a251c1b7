#include "search/explain/why_not.h"

#include <optional>
#include <utility>

#include "base/diagnostic/diagnostic.h"
#include "search/explain/what_if.h"
#include "search/knobs/regions/regions.h"
#include "search/model/pins/pins.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/sapp/alternatives.h"

namespace cleave::search {
namespace {

// The number of alternatives for which conditions are computed.
constexpr size_t kAsked = 3;

// The plan as an assignment; nullptr where the plan does not follow from its forward ops (because it was edited, or its
// optimizer is sharded).
std::unique_ptr<Assignment> AssignmentOf(const Explained& explained, const GraphFacts& facts) {
  const ir::Plan& plan = explained.plan;
  Diagnostics ignored;
  const std::optional<OpDemands> demands = ResolvePins(facts, plan.mesh, explained.pins, ignored);
  if (!demands.has_value()) return nullptr;
  AssignmentOptions options{.gradient_weight = plan.gradient_weight, .dataset = std::nullopt};
  if (IsInSeconds(explained.plan)) {
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

}  // namespace

bool IsInSeconds(const ir::Plan& plan) { return plan.search.price == "time"; }

WhyNot::WhyNot(const Explained& explained)
    : explained_(explained),
      facts_(FactsOf(explained.graph, explained.plan.micro_batches)),
      assignment_(AssignmentOf(explained, facts_)),
      bundles_(FindBundles(facts_)) {}

std::vector<OtherChoice> WhyNot::OthersFor(ir::OpId op) {
  std::vector<OtherChoice> others;
  if (!is_known()) return others;
  const std::optional<Cluster> cluster =
      IsInSeconds(explained_.plan) ? std::optional(explained_.cluster) : std::nullopt;
  for (const Alternative& other : Alternatives(*assignment_, bundles_).OthersFor(op)) {
    if (others.size() == kAsked) break;
    const WhatIf what_if(*assignment_, other.changes, cluster);
    std::vector<std::string> conditions = what_if.Conditions();
    if (what_if.Now() < 0) conditions = {"now"};
    if (conditions.empty()) conditions = {"with no gradient_weight and at no speed of a link"};
    others.push_back({.strategy = other.choice.strategy, .conditions = std::move(conditions)});
  }
  return others;
}

}  // namespace cleave::search
