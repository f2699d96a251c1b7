#include "search/planner.h"

#include <string>
#include <utility>

#include "base/check/check.h"
#include "search/baselines/baselines.h"
#include "search/cost/cost.h"
#include "search/cost/time_prices.h"
#include "search/exact/exact.h"
#include "search/memory/memory.h"
#include "search/pins/pins.h"
#include "search/propagate/propagate.h"
#include "search/sapp/sapp.h"
#include "search/sapp/starts.h"
#include "search/zero/zero.h"

namespace cleave {
namespace {

Prices PricesOf(const PlanningTask& task) {
  switch (task.options.price) {
    case Price::kBytes:
    case Price::kClassic:
      return {};
    case Price::kTime:
      return TimePrices(task.facts, task.cluster, task.mesh);
  }
  return {};
}

}  // namespace

Planner::Planner(const PlanningTask& task) : task_(task), bundles_(FindBundles(task.facts)), prices_(PricesOf(task)) {}

AssignmentOptions Planner::OptionsUnder(double memory_weight) const {
  return {.gradient_weight = task_.options.gradient_weight,
          .dataset = task_.options.dataset,
          .prices = WithMemoryWeight(task_.facts, task_.mesh, memory_weight, prices_)};
}

std::optional<Planner::Decisions> Planner::Decide(Assignment& assignment, Diagnostics& diagnostics) const {
  const SearchOptions& options = task_.options;
  Decisions decisions{.cost = std::nullopt,
                      .lower_bound = std::nullopt,
                      .reasons = {.searched = false, .rule = "", .price = options.price}};
  switch (options.algorithm) {
    case SearchAlgorithm::kSapp: {
      const double cost = Sapp(assignment, bundles_, {.price = options.price, .work = options.work});
      if (options.price == Price::kClassic) decisions.cost = cost;
      decisions.reasons.searched = true;
      break;
    }
    case SearchAlgorithm::kDataParallel:
      DataParallel(assignment);
      decisions.reasons.rule = "data_parallel cuts the batch on every mesh axis";
      break;
    case SearchAlgorithm::kReplicate:
      Replicate(assignment);
      decisions.reasons.rule = "replicate cuts nothing";
      break;
    case SearchAlgorithm::kPropagate: {
      std::optional<Propagation> propagation = Propagate(assignment, task_.demands, task_.pins, diagnostics);
      if (!propagation.has_value()) return std::nullopt;
      decisions.reasons.rule = "no pin's cut reaches it";
      decisions.reasons.followed = std::move(propagation->reasons);
      break;
    }
    case SearchAlgorithm::kExact: {
      const ExactResult best = FindBest(assignment, bundles_, {.work = options.work});
      // With a price of memory the bound is one of both together.
      if (assignment.options().prices.local == nullptr) decisions.lower_bound = best.lower_bound;
      decisions.reasons.searched = true;
      break;
    }
    case SearchAlgorithm::kManual:
      CLEAVE_UNREACHABLE();
  }
  return decisions;
}

std::optional<Plan> Planner::PlanFor(double memory_weight, int zero, Diagnostics& diagnostics) const {
  const GraphFacts& facts = task_.facts;
  Assignment decided(facts, task_.mesh, OptionsUnder(memory_weight), task_.demands);
  std::optional<Decisions> decisions = Decide(decided, diagnostics);
  if (!decisions.has_value()) return std::nullopt;
  decisions->reasons.keeps_to_memory = memory_weight > 0;
  // Costs and reasons are those of the program: a search pays for memory too, and prices redistributions as they are
  // found fastest.
  Assignment assignment(facts, task_.mesh, OptionsUnder(0), task_.demands);
  assignment.Apply(Snapshot(decided));
  CLEAVE_CHECK(assignment.cost().impossible == 0) << "a value is read in a layout in which it cannot be made";

  Plan plan{.cluster = task_.cluster.name,
            .mesh = task_.mesh,
            .ops = {},
            .gradient_weight = task_.options.gradient_weight,
            .search = {}};
  plan.search = {.algorithm = std::string(AlgorithmName(task_.options.algorithm)),
                 .objective = "speed",
                 .price = std::string(PriceName(task_.options.price)),
                 .seconds = 0,
                 .cost = decisions->cost.value_or(assignment.cost().price),
                 .lower_bound = decisions->lower_bound};
  plan.ops = PlansWithReasons(assignment, bundles_, task_.demands, decisions->reasons);
  for (OpId op : BrokenDemands(facts, plan, task_.demands)) {
    CLEAVE_CHECK(false) << "the plan does not keep the pin on " << facts.op(op).name;
  }
  if (zero > 0) {
    ShardReplicas(facts, task_.demands, zero, plan);
    plan.search.zero = zero;
    plan.search.cost = PlanCost(*facts.graph, plan, prices_).price;
  }
  return plan;
}

}  // namespace cleave
