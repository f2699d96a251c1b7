// Reading guide: DecideFor searches strategies. Decide runs one algorithm under one price, DecideByRegion one region
// after another, DecideMeasured once under each price, comparing the programs. PlanOf makes a plan of the result,
// Divided applies ZeRO and decides all ops that no search sets.
#include "search/knobs/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/check/check.h"
#include "search/knobs/aside.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/regions/objective.h"
#include "search/knobs/regions/polish.h"
#include "search/knobs/zero/zero.h"
#include "search/model/pins/pins.h"
#include "search/price/cost/cost.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/baselines/baselines.h"
#include "search/solve/exact/exact.h"
#include "search/solve/propagate/propagate.h"
#include "search/solve/sapp/classic_greedy.h"
#include "search/solve/sapp/sapp.h"
#include "search/solve/sapp/starts.h"

namespace cleave::search {
namespace {

// Whether the algorithm looks for the best plan, rather than following a rule or pins.
bool IsSearch(ir::SearchAlgorithm algorithm) {
  return algorithm == ir::SearchAlgorithm::kSapp || algorithm == ir::SearchAlgorithm::kExact;
}

}  // namespace

Planner::Planner(const PlanningTask& task)
    : task_(task),
      in_seconds_(task.options.price == ir::Price::kTime || MeasuredObjective().has_value()
                      ? std::optional(TimePrices(task.facts, task.cluster, mesh(), task.options.execution.fuse))
                      : std::nullopt),
      bundles_(FindBundles(task.facts)),
      measured_graph_(WithoutAside(task.facts)) {}

Prices Planner::PricesUnder(ir::Price price) const {
  Prices prices;
  if (price == ir::Price::kTime) prices = *in_seconds_;
  prices.planner = price == ir::Price::kTime ? task_.in_time : task_.redistributions;
  return prices;
}

AssignmentOptions Planner::OptionsUnder(const Pricing& pricing, double memory_weight) const {
  AssignmentOptions options = PaidUnder(pricing.objective, task_.facts, mesh(),
                                        {.gradient_weight = GradientWeight(task_.options),
                                         .dataset = task_.options.dataset,
                                         .prices = PricesUnder(pricing.price),
                                         .tuning = task_.options.tuning});
  if (pricing.saves_work) options.tuning.small_ops = 0;
  options.prices.may_leave_idle = options.prices.may_leave_idle && pricing.may_leave_idle;
  options.prices = WithMemoryWeight(task_.facts, mesh(), memory_weight, std::move(options.prices));
  return options;
}

std::optional<Planner::Decisions> Planner::Decide(const RegionStep& step, const Pricing& pricing, double memory_weight,
                                                  Diagnostics& diagnostics) const {
  const SearchOptions& options = task_.options;
  Assignment assignment(task_.facts, mesh(), OptionsUnder(pricing, memory_weight), step.held);
  Decisions decisions{.reasons = {.searched = false, .rule = "", .price = options.price}};
  // Otherwise the bound is not one of the cost.
  const bool is_of_cost = step.objective == ir::Objective::kSpeed && memory_weight == 0;
  switch (options.algorithm) {
    case ir::SearchAlgorithm::kSapp: {
      if (options.price == ir::Price::kClassic) {
        decisions.cost =
            GreedyByClassic(assignment, bundles_, {.redistribution_weight = options.redistribution_weight});
      } else {
        Sapp(assignment);
      }
      decisions.reasons.searched = true;
      break;
    }
    case ir::SearchAlgorithm::kDataParallel:
      DataParallel(assignment);
      decisions.reasons.rule = "data_parallel cuts only the batch";
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
      if (is_of_cost) decisions.lower_bound = propagation->lower_bound;
      break;
    }
    case ir::SearchAlgorithm::kExact: {
      Sapp(assignment);
      const ExactResult best = FindBest(assignment, Freedom::Whole(assignment.table()));
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

std::optional<Planner::Decisions> Planner::DecideAll(const std::optional<Pricing>& pricing, double memory_weight,
                                                     Diagnostics& diagnostics) const {
  if (!task_.pins.regions.empty()) return DecideByRegion(pricing, memory_weight, diagnostics);
  const ir::Objective objective = task_.options.objective;
  return Decide({.objective = objective, .held = task_.demands, .spread = task_.demands},
                pricing.value_or(PricingOf(objective)), memory_weight, diagnostics);
}

std::optional<Planner::Decisions> Planner::DecideByRegion(const std::optional<Pricing>& pricing, double memory_weight,
                                                          Diagnostics& diagnostics) const {
  const RegionTask task = {.facts = task_.facts,
                           .demands = task_.demands,
                           .pins = task_.pins,
                           .outside = task_.options.outside,
                           .objective = task_.options.objective};
  ReasonOptions reasons;
  const DecideStep decide = [&](const RegionStep& step) -> std::optional<std::vector<Change>> {
    std::optional<Decisions> own =
        Decide(step, pricing.value_or(PricingOf(step.objective)), memory_weight, diagnostics);
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

std::optional<ir::Objective> Planner::MeasuredObjective() const {
  if (!IsSearch(task_.options.algorithm) || task_.options.price == ir::Price::kClassic) return std::nullopt;
  const std::vector<ir::Region>& regions = task_.pins.regions;
  if (regions.empty()) {
    // Under `speed` whole models are decided by the price that `cost` names.
    const ir::Objective objective = task_.options.objective;
    return objective == ir::Objective::kSpeed ? std::nullopt : std::optional(objective);
  }
  const ir::Objective objective = regions[0].objective;
  const bool is_one = std::all_of(regions.begin(), regions.end(),
                                  [&](const ir::Region& region) { return region.objective == objective; });
  const bool outside_is_too = task_.options.outside == ir::Outside::kReplicate || task_.options.objective == objective;
  return is_one && outside_is_too ? std::optional(objective) : std::nullopt;
}

// Without reasons.
IdVector<ir::OpId, ir::OpPlan> Planner::OpPlansOf(const Assignment& assignment) const {
  IdVector<ir::OpId, ir::OpPlan> plans;
  for (const ir::Op& op : task_.facts.graph->ops) plans.push_back(OpPlanOf(assignment, op.id));
  return plans;
}

Measured Planner::MeasureOf(const Assignment& assignment, int zero) const {
  ir::Plan plan{.cluster = task_.cluster.name,
                .mesh = mesh(),
                .ops = {},
                .micro_batches = task_.options.micro_batches,
                .search = {}};
  plan.ops = OpPlansOf(assignment);
  ShardReplicas(task_.facts, task_.demands, zero, plan);
  PlaceUpdate(plan);
  return Measure(measured_graph_, WithoutAside(task_.facts, std::move(plan)), task_.cluster, task_.options.execution);
}

// Searches under the prices of all objectives, for memory also with weights between speed and memory, because prices
// only approximate a measured quantity. Improves the plan that measures best.
std::optional<Planner::Decisions> Planner::DecideMeasured(ir::Objective objective, int zero,
                                                          Diagnostics& diagnostics) const {
  const Pricing own = PricingOf(objective);
  std::vector<Pricing> pricings = {own};
  for (const ir::Objective other :
       {ir::Objective::kSpeed, ir::Objective::kMemory, ir::Objective::kComputeToCommunication}) {
    if (other == objective) continue;
    pricings.push_back(
        {.objective = other, .price = own.price, .may_leave_idle = own.may_leave_idle, .saves_work = true});
  }
  if (own.price != ir::Price::kTime) {
    pricings.push_back(
        {.objective = ir::Objective::kSpeed, .price = ir::Price::kTime, .may_leave_idle = false, .saves_work = true});
  }
  std::optional<Decisions> best;
  Measured least;
  // Searches under `pricing` and a weight, and keeps the plan if it is the best so far. Returns its measurements and
  // its price; nullopt after errors.
  const auto look_at = [&](const Pricing& pricing, double weight) -> std::optional<std::pair<Measured, double>> {
    Diagnostics repeated;  // The warnings of a search do not depend on its price.
    std::optional<Decisions> decisions = DecideAll(pricing, weight, best.has_value() ? repeated : diagnostics);
    if (!decisions.has_value()) return std::nullopt;
    Assignment assignment(task_.facts, mesh(), OptionsUnder(pricing, 0), decisions->held);
    assignment.Apply(decisions->changes);
    const std::pair<Measured, double> found(MeasureOf(assignment, zero), assignment.cost().price);
    if (!best.has_value() || IsBetter(objective, found.first, least)) {
      best = std::move(decisions);
      least = found.first;
    }
    return found;
  };
  for (const Pricing& pricing : pricings) {
    const auto found = look_at(pricing, 0);
    if (!found.has_value()) return std::nullopt;
    if (objective != ir::Objective::kMemory || pricing.objective != ir::Objective::kSpeed) continue;
    // Weights are powers of two times the plan's price per byte of its peak: every fourth power, then those next to the
    // best.
    const auto& [measured, price] = *found;
    const double unit = price > 0 ? price / static_cast<double>(measured.peak.value()) : 1;
    std::optional<int> exponent_of_best;
    const auto look_at_power = [&](int exponent) {
      const Bytes before = least.peak;
      look_at(pricing, std::exp2(exponent) * unit);
      if (least.peak < before) exponent_of_best = exponent;
    };
    for (int exponent = -4; exponent <= 8; exponent += 4) look_at_power(exponent);
    if (!exponent_of_best.has_value()) continue;
    for (const int exponent : {*exponent_of_best - 2, *exponent_of_best + 2}) look_at_power(exponent);
  }
  Improve(objective, zero, *best);
  return best;
}

void Planner::Improve(ir::Objective objective, int zero, Decisions& decisions) const {
  Pricing pricing = PricingOf(ir::Objective::kSpeed);
  pricing.may_leave_idle = PricingOf(objective).may_leave_idle;
  Assignment assignment(task_.facts, mesh(), OptionsUnder(pricing, 0), decisions.held);
  assignment.Apply(decisions.changes);
  const int mark = assignment.mark();
  const auto measure = [&] { return MeasureOf(assignment, zero); };
  Polish(assignment, Freedom::Whole(assignment.table()), task_.options.tuning.measured_ops, measure, objective);
  if (assignment.SetSince(mark).empty()) return;
  decisions.changes = Snapshot(assignment);
}

bool Planner::CanImproveWithinLimit() const {
  const SearchTuning& tuning = task_.options.tuning;
  const OpTimes& times = task_.facts.times;
  const int64_t ops = std::accumulate(times.begin(), times.end(), int64_t{0});
  return IsSearch(task_.options.algorithm) && task_.options.price == ir::Price::kTime &&
         task_.options.objective == ir::Objective::kSpeed && task_.pins.regions.empty() &&
         tuning.improved_ops / ops >= tuning.least_improved;
}

void Planner::ImproveWithinLimit(Decisions decisions,
                                 const std::function<Reached(const Decisions&, Trial)>& reach) const {
  const SearchTuning& tuning = task_.options.tuning;
  Assignment assignment(task_.facts, mesh(), OptionsUnder(PricingOf(ir::Objective::kSpeed), 0), decisions.held);
  assignment.Apply(decisions.changes);
  decisions.reasons.keeps_to_memory = true;
  const Freedom freedom = Freedom::Whole(assignment.table());
  const Trial trial = TriesAll(assignment, freedom, tuning.tried_ops) ? Trial::kAll : Trial::kNear;
  Polish(
      assignment, freedom, trial == Trial::kAll ? tuning.tried_ops : tuning.improved_ops,
      [&] {
        constexpr Seconds kNone(1e9);  // Longer than any step, so that plans that reach no time differ by their peaks.
        constexpr Bytes kMost(std::numeric_limits<int64_t>::max());
        decisions.changes = Snapshot(assignment);
        const Reached reached = reach(decisions, trial);
        return Measured{.step = reached.step.value_or(kNone), .peak = reached.peak.value_or(kMost)};
      },
      ir::Objective::kSpeed);
}

std::string Planner::ObjectiveText() const {
  if (!task_.pins.regions.empty()) return ObjectivesText(task_.pins.regions);
  return std::string(ObjectiveName(task_.options.objective));
}

bool Planner::DecidesForAllZero(double memory_weight) const {
  return memory_weight > 0 || !MeasuredObjective().has_value();
}

std::optional<Planner::Decisions> Planner::DecideFor(double memory_weight, int zero, Diagnostics& diagnostics) const {
  std::optional<Decisions> decisions = DecidesForAllZero(memory_weight)
                                           ? DecideAll(/*pricing=*/std::nullopt, memory_weight, diagnostics)
                                           : DecideMeasured(*MeasuredObjective(), zero, diagnostics);
  if (!decisions.has_value()) return std::nullopt;
  decisions->reasons.keeps_to_memory = memory_weight > 0;
  const ir::Objective objective = task_.options.objective;
  if (objective != ir::Objective::kSpeed && task_.pins.regions.empty()) decisions->reasons.objective = ObjectiveText();
  return decisions;
}

ir::Plan Planner::PlanOf(const Decisions& decisions, Detail detail) const {
  const GraphFacts& facts = task_.facts;
  // Costs and reasons are in the prices of the program. During the search memory may have a price, and redistributions
  // are planned directly.
  const AssignmentOptions options = OptionsUnder(PricingOf(ir::Objective::kSpeed), 0);
  Assignment assignment(facts, mesh(), options, decisions.held);
  assignment.Apply(decisions.changes);
  CLEAVE_CHECK(assignment.cost().impossible == 0) << "a value is read in a layout in which it cannot be made";

  ir::Plan plan{.cluster = task_.cluster.name,
                .mesh = mesh(),
                .ops = {},
                .micro_batches = task_.options.micro_batches,
                .gradient_weight = GradientWeight(task_.options),
                .search = {}};
  plan.search = {.algorithm = std::string(AlgorithmName(task_.options.algorithm)),
                 .objective = ObjectiveText(),
                 .price = std::string(PriceName(task_.options.price)),
                 .cost = decisions.cost.value_or(assignment.cost().price),
                 .lower_bound = decisions.lower_bound};
  // The same sum in another order.
  if (plan.search.lower_bound.has_value() && plan.search.cost <= *plan.search.lower_bound * (1 + 1e-9)) {
    plan.search.lower_bound = plan.search.cost;
  }
  if (detail == Detail::kStrategies) {
    plan.ops = OpPlansOf(assignment);
  } else if (std::all_of(facts.times.begin(), facts.times.end(), [](int64_t times) { return times == 1; })) {
    plan.ops = PlansWithReasons(assignment, bundles_, task_.demands, decisions.reasons);
  } else {
    // The reason of an op is about one op, not about all for which it stands.
    GraphFacts one_by_one = facts;
    one_by_one.times = OpTimes(facts.times.size(), 1);
    Assignment own(one_by_one, mesh(), options, decisions.held);
    own.Apply(decisions.changes);
    plan.ops = PlansWithReasons(own, bundles_, task_.demands, decisions.reasons);
  }
  for (ir::OpId op : BrokenDemands(facts, plan, task_.demands)) {
    CLEAVE_CHECK(false) << "the plan does not keep the pin on " << facts.op(op).name;
  }
  return plan;
}

// Replicates ops between products of the update if that is cheaper. Nothing hides what the update sends, so it has the
// full weight.
bool Planner::PlaceUpdate(ir::Plan& plan) const {
  FollowParameters(task_.facts, task_.demands, plan);
  std::optional<ir::Plan> gathered = GatheredForProducts(task_.facts, task_.demands, plan);
  if (!gathered.has_value()) return false;
  const Prices prices = PricesUnder(task_.options.price);
  const auto cost_of = [&](ir::Plan own) {
    own.gradient_weight = 1;
    return PlanCost(task_.facts, own, prices);
  };
  if (!Cheaper(cost_of(*gathered), cost_of(plan))) return false;
  plan = *std::move(gathered);
  plan.search.lower_bound.reset();  // It was for another update.
  return true;
}

ir::Plan Planner::Divided(ir::Plan plan, int zero) const {
  ShardReplicas(task_.facts, task_.demands, zero, plan);
  const bool has_other_update = PlaceUpdate(plan);
  plan.search.zero = zero;
  if (zero > 0 || has_other_update) {
    plan.search.cost = PlanCost(task_.facts, plan, OptionsUnder(PricingOf(ir::Objective::kSpeed), 0).prices).price;
  }
  FollowAside(task_.facts, task_.demands, task_.options.dataset.has_value(), plan);
  NameRegions(task_.pins, plan.ops);
  return plan;
}

}  // namespace cleave::search
