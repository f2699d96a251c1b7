#include "search/knobs/memory/frontier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/model/facts/facts.h"

namespace cleave::search {
namespace {

constexpr int kLimits = 10;

// The plan without recomputation. Parameters that replicas divide (search/knobs/zero) are gathered again in any case.
ir::Plan KeepingAll(const ir::Graph& graph, const ir::Plan& plan) {
  const GraphFacts facts = FactsOf(graph, plan.micro_batches);
  ir::Plan kept = plan;
  for (const ir::Op& op : graph.ops) {
    const bool is_divided =
        plan.search.zero == 3 && (facts.roles[op.id] == Role::kParameter || facts.roles[op.id] == Role::kCopy);
    if (!is_divided) kept.ops[op.id].retention = ir::Retention::kKeep;
  }
  return kept;
}

bool RetainsAs(const ir::Plan& a, const ir::Plan& b) {
  return std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(),
                    [](const ir::OpPlan& x, const ir::OpPlan& y) { return x.retention == y.retention; });
}

FrontierPoint PointOf(const FrontierTask& task, const Recomputation& recomputation, const ir::Plan& plan) {
  const ir::LoweredProgram made = MustMake(task.graph, plan, task.cluster, task.execution);
  return {.peak = PeakOf(made),
          .step = StepOf(made, task.cluster, task.execution),
          .again = recomputation.WhatIsMadeAgain(plan),
          .is_chosen = RetainsAs(plan, task.plan)};
}

}  // namespace

Frontier FrontierOf(const FrontierTask& task) {
  const ir::Plan kept = KeepingAll(task.graph, task.plan);
  const ir::LoweredProgram made = MustMake(task.graph, kept, task.cluster, task.execution);
  Recomputation recomputation(made.distributed, made.program, made.memory, task.cluster, task.asked, task.tuning);
  const ir::Plan as_asked = WithAsked(kept, task.asked);
  std::vector<ir::Plan> plans = {as_asked};
  const auto add = [&](const ir::Plan& plan) {
    const bool is_new =
        std::none_of(plans.begin(), plans.end(), [&](const ir::Plan& other) { return RetainsAs(plan, other); });
    if (is_new) plans.push_back(plan);
  };
  const auto add_choice = [&](const RecomputeChoice& choice) {
    ir::Plan plan = as_asked;
    Apply(choice, plan);
    add(plan);
  };
  const RecomputeChoice smallest = recomputation.Smallest();
  const Bytes most = recomputation.PeakAsAsked();
  for (int i = 1; i < kLimits; ++i) {
    const Bytes limit(most.value() - (most - smallest.peak).value() / kLimits * i);
    const std::optional<RecomputeChoice> choice = recomputation.Cheapest(limit);
    if (choice.has_value()) add_choice(*choice);
  }
  add_choice(smallest);
  add(task.plan);

  std::vector<FrontierPoint> points;
  for (const ir::Plan& plan : plans) points.push_back(PointOf(task, recomputation, plan));
  std::stable_sort(points.begin(), points.end(), [](const FrontierPoint& a, const FrontierPoint& b) {
    return a.peak != b.peak ? a.peak < b.peak : a.step < b.step;
  });
  Frontier frontier{.points = {}, .is_as_asked = RetainsAs(as_asked, task.plan)};
  Seconds least = points.front().step;
  for (size_t i = 0; i < points.size(); ++i) {
    // Another point takes less memory, and no more time.
    const bool is_worse = i > 0 && points[i].step >= least;
    least = std::min(least, points[i].step);
    if (!is_worse || points[i].is_chosen) frontier.points.push_back(std::move(points[i]));
  }
  std::reverse(frontier.points.begin(), frontier.points.end());
  return frontier;
}

}  // namespace cleave::search
