#include "search/planner.h"

#include <string>
#include <utility>

#include "base/check/check.h"
#include "search/aside.h"
#include "search/baselines/baselines.h"
#include "search/cost/cost.h"
#include "search/cost/time_prices.h"
#include "search/exact/exact.h"
#include "search/memory/memory.h"
#include "search/pins/pins.h"
#include "search/propagate/propagate.h"
#include "search/regions/objective.h"
#include "search/sapp/sapp.h"
#include "search/sapp/starts.h"
#include "search/zero/zero.h"

namespace cleave::search {
namespace {

Prices PricesOf(const PlanningTask& task) {
  switch (task.options.price) {
    case ir::Price::kBytes:
    case ir::Price::kClassic:
      return {};
    case ir::Price::kTime:
      return TimePrices(task.facts, task.cluster, task.mesh);
  }
  return {};
}

}  // namespace

Planner::Planner(const PlanningTask& task) : task_(task), bundles_(FindBundles(task.facts)), prices_(PricesOf(task)) {}

AssignmentOptions Planner::OptionsUnder(ir::Objective objective, double memory_weight) const {
  AssignmentOptions options = PaidUnder(objective, task_.facts, task_.mesh,
                                        {.gradient_weight = task_.options.gradient_weight,
                                         .dataset = task_.options.dataset,
                                         .prices = prices_,
                                         .tuning = task_.options.tuning});
  options.prices = WithMemoryWeight(task_.facts, task_.mesh, memory_weight, std::move(options.prices));
  return options;
}

std::optional<Planner::Decisions> Planner::Decide(const RegionStep& step, double memory_weight,
                                                  Diagnostics& diagnostics) const {
  const SearchOptions& options = task_.options;
  Assignment assignment(task_.facts, task_.mesh, OptionsUnder(step.objective, memory_weight), step.held);
  Decisions decisions{.reasons = {.searched = false, .rule = "", .price = options.price}};
  switch (options.algorithm) {
    case ir::SearchAlgorithm::kSapp: {
      const double cost = Sapp(assignment, bundles_, options.price);
      if (options.price == ir::Price::kClassic) decisions.cost = cost;
      decisions.reasons.searched = true;
      break;
    }
    case ir::SearchAlgorithm::kDataParallel:
      DataParallel(assignment);
      decisions.reasons.rule = "data_parallel cuts the batch on every mesh axis";
      break;
    case ir::SearchAlgorithm::kReplicate:
      Replicate(assignment);
      decisions.reasons.rule = "replicate cuts nothing";
      break;
    case ir::SearchAlgorithm::kPropagate: {
      std::optional<Propagation> propagation = Propagate(assignment, step.spread, task_.pins, diagnostics);
      if (!propagation.has_value()) return std::nullopt;
      decisions.reasons.rule = "no pin's cut reaches it";
      decisions.reasons.followed = std::move(propagation->reasons);
      break;
    }
    case ir::SearchAlgorithm::kExact: {
      const ExactResult best = FindBest(assignment, bundles_);
      // Under another objective, or with a price for memory, the bound is not a bound of the cost.
      const bool is_of_cost = step.objective == ir::Objective::kSpeed && assignment.options().prices.local == nullptr;
      if (is_of_cost) decisions.lower_bound = best.lower_bound;
      decisions.reasons.searched = true;
      break;
    }
    case ir::SearchAlgorithm::kManual:
      CLEAVE_UNREACHABLE();
  }
  decisions.held = step.held;
  decisions.changes = Snapshot(assignment);
  return decisions;
}

std::optional<Planner::Decisions> Planner::DecideByRegion(double memory_weight, Diagnostics& diagnostics) const {
  const RegionTask task = {.facts = task_.facts,
                           .demands = task_.demands,
                           .pins = task_.pins,
                           .outside = task_.options.outside,
                           .objective = task_.options.objective};
  ReasonOptions reasons;
  const DecideStep decide = [&](const RegionStep& step) -> std::optional<std::vector<Change>> {
    std::optional<Decisions> own = Decide(step, memory_weight, diagnostics);
    if (!own.has_value()) return std::nullopt;
    own->reasons.followed.merge(reasons.followed);
    reasons = std::move(own->reasons);
    return std::move(own->changes);
  };
  std::optional<RegionDecisions> decided = DecideRegions(task, decide);
  if (!decided.has_value()) return std::nullopt;
  reasons.ruled = ReasonsOutside(task);
  return Decisions{
      .held = std::move(decided->held), .changes = std::move(decided->changes), .reasons = std::move(reasons)};
}

std::string Planner::ObjectiveText() const {
  if (!task_.pins.regions.empty()) return ObjectivesText(task_.pins.regions);
  return std::string(ObjectiveName(task_.options.objective));
}

std::optional<ir::Plan> Planner::PlanFor(double memory_weight, int zero, Diagnostics& diagnostics) const {
  const GraphFacts& facts = task_.facts;
  const ir::Objective objective = task_.options.objective;
  std::optional<Decisions> decisions =
      task_.pins.regions.empty()
          ? Decide({.objective = objective, .held = task_.demands, .spread = task_.demands}, memory_weight, diagnostics)
          : DecideByRegion(memory_weight, diagnostics);
  if (!decisions.has_value()) return std::nullopt;
  decisions->reasons.keeps_to_memory = memory_weight > 0;
  if (objective != ir::Objective::kSpeed && task_.pins.regions.empty()) decisions->reasons.objective = ObjectiveText();
  // Costs and reasons are given in the prices of the program. During the search memory has a price too, and
  // redistributions are planned in the fastest way.
  Assignment assignment(facts, task_.mesh, OptionsUnder(ir::Objective::kSpeed, 0), decisions->held);
  assignment.Apply(decisions->changes);
  CLEAVE_CHECK(assignment.cost().impossible == 0) << "a value is read in a layout in which it cannot be made";

  ir::Plan plan{.cluster = task_.cluster.name,
                .mesh = task_.mesh,
                .ops = {},
                .gradient_weight = task_.options.gradient_weight,
                .search = {}};
  plan.search = {.algorithm = std::string(AlgorithmName(task_.options.algorithm)),
                 .objective = ObjectiveText(),
                 .price = std::string(PriceName(task_.options.price)),
                 .seconds = 0,
                 .cost = decisions->cost.value_or(assignment.cost().price),
                 .lower_bound = decisions->lower_bound};
  plan.ops = PlansWithReasons(assignment, bundles_, task_.demands, decisions->reasons);
  NameRegions(task_.pins, plan.ops);
  for (ir::OpId op : BrokenDemands(facts, plan, task_.demands)) {
    CLEAVE_CHECK(false) << "the plan does not keep the pin on " << facts.op(op).name;
  }
  if (zero > 0) {
    ShardReplicas(facts, task_.demands, zero, plan);
    plan.search.zero = zero;
    plan.search.cost = PlanCost(facts, plan, prices_).price;
  }
  FollowAside(facts, task_.demands, task_.options.dataset.has_value(), plan);
  return plan;
}

}  // namespace cleave::search
