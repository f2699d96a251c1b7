// Makes one plan by one algorithm, without regard to a memory limit: strategies, their reasons, and what ZeRO divides.
// Private to search.
#ifndef CLEAVE_SEARCH_KNOBS_PLANNER_H_
#define CLEAVE_SEARCH_KNOBS_PLANNER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/options.h"
#include "search/knobs/regions/measure.h"
#include "search/knobs/regions/regions.h"
#include "search/model/cluster/cluster.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/prices.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/reasons.h"

namespace cleave::search {

// The task of a search; all of it outlives the planner.
struct PlanningTask {
  const GraphFacts& facts;
  // On the mesh of the plan, by weighted bytes and by the time of the cluster; shared with other searches.
  std::shared_ptr<ir::RedistributionPlanner> redistributions, in_time;
  const Cluster& cluster;
  const ir::Pins& pins;
  const OpDemands& demands;
  const SearchOptions& options;
};

class Planner {
 public:
  // REQUIRES: Search supports the algorithm.
  explicit Planner(const PlanningTask& task);

  // The result of one search of strategies.
  struct Decisions {
    OpDemands held = {};                     // Ops that the search kept fixed.
    std::vector<Change> changes = {};        // The strategies that it chose.
    std::optional<double> cost = {};         // nullopt: that of the assignment.
    std::optional<double> lower_bound = {};  // Of all plans that keep the pins.
    ReasonOptions reasons;
  };

  // Searches under the price in which a kept byte costs `memory_weight`. `zero` matters where plans are compared by
  // their programs. nullopt after errors. REQUIRES: 0 <= zero <= 3.
  std::optional<Decisions> DecideFor(double memory_weight, int zero, Diagnostics& diagnostics) const;
  // Whether DecideFor gives the same for each `zero`.
  bool DecidesForAllZero(double memory_weight) const;

  // Whether the model is so small that ImproveWithinLimit may be called.
  bool CanImproveWithinLimit() const;
  // Changes `decisions` as long as `reach` returns a better result (search/knobs/regions/polish.h).
  void ImproveWithinLimit(Decisions decisions, const std::function<Reached(const Decisions&, Trial)>& reach) const;

  // What PlanOf fills in. Reasons, with the alternatives of each op, take longer than the search.
  enum class Detail { kStrategies, kReasons };
  // The plan of `decisions` at ZeRO level 0. Its search.cost is without the price of memory.
  ir::Plan PlanOf(const Decisions& decisions, Detail detail) const;
  // `plan`, which PlanOf returned, at a ZeRO level.
  ir::Plan Divided(ir::Plan plan, int zero) const;

 private:
  // What a search minimizes: the prices of an objective under `price`.
  struct Pricing {
    ir::Objective objective = ir::Objective::kSpeed;
    ir::Price price = ir::Price::kBytes;
    bool may_leave_idle = true;  // If the price allows it.
    bool saves_work = false;     // Even on small graphs; for plans that are compared with others.
  };

  // Products may leave axes idle only for speed, and if the user allows it.
  Pricing PricingOf(ir::Objective objective) const {
    return {.objective = objective,
            .price = task_.options.price,
            .may_leave_idle = task_.options.leave_idle.value_or(false) && objective == ir::Objective::kSpeed};
  }
  const ir::Mesh& mesh() const { return task_.redistributions->mesh(); }
  Prices PricesUnder(ir::Price price) const;
  AssignmentOptions OptionsUnder(const Pricing& pricing, double memory_weight) const;

  std::optional<Decisions> Decide(const RegionStep& step, const Pricing& pricing, double memory_weight,
                                  Diagnostics& diagnostics) const;
  // For models with and without regions; `pricing` nullopt: that of each region's objective.
  std::optional<Decisions> DecideAll(const std::optional<Pricing>& pricing, double memory_weight,
                                     Diagnostics& diagnostics) const;
  std::optional<Decisions> DecideByRegion(const std::optional<Pricing>& pricing, double memory_weight,
                                          Diagnostics& diagnostics) const;

  // The objective by which plans are compared on their programs; nullopt where the search's price decides.
  std::optional<ir::Objective> MeasuredObjective() const;
  IdVector<ir::OpId, ir::OpPlan> OpPlansOf(const Assignment& assignment) const;
  std::optional<Decisions> DecideMeasured(ir::Objective objective, int zero, Diagnostics& diagnostics) const;
  void Improve(ir::Objective objective, int zero, Decisions& decisions) const;
  Measured MeasureOf(const Assignment& assignment, int zero) const;
  // Sets the strategies of the update's ops. Returns whether they differ from those that the search has priced.
  bool PlaceUpdate(ir::Plan& plan) const;
  std::string ObjectiveText() const;

  const PlanningTask task_;
  const std::optional<Prices> in_seconds_;  // nullopt: no search of this task needs them.
  const Bundles bundles_;
  const ir::Graph measured_graph_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_PLANNER_H_
