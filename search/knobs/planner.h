// Makes one plan by one algorithm: decisions, their reasons, and the divisions of ZeRO. Private to search.
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
  std::shared_ptr<ir::RedistributionPlanner> redistributions;  // On the mesh of the plan; other searches share it.
  const Cluster& cluster;
  const ir::Pins& pins;
  const OpDemands& demands;
  const SearchOptions& options;
};

class Planner {
 public:
  // REQUIRES: Search supports the algorithm.
  explicit Planner(const PlanningTask& task);

  // How the ops were decided.
  struct Decisions {
    OpDemands held = {};                     // The demands on ops that the search does not decide.
    std::vector<Change> changes = {};        // The decisions of the search.
    std::optional<double> cost = {};         // Where it differs from that of the assignment.
    std::optional<double> lower_bound = {};  // A bound of any plan's cost.
    ReasonOptions reasons;
  };

  // The decisions when each byte that a rank keeps costs `memory_weight` in the price of the search; nullopt after
  // errors. REQUIRES: 0 <= zero <= 3.
  std::optional<Decisions> DecideFor(double memory_weight, int zero, Diagnostics& diagnostics) const;
  // Whether DecideFor gives the same for each `zero`.
  bool DecidesForAllZero(double memory_weight) const;

  // Whether plans can be improved by what they reach within a limit of memory: small models, for speed.
  bool CanImproveWithinLimit() const;
  // Changes `decisions` for as long as they reach more (search/knobs/regions/polish.h).
  void ImproveWithinLimit(Decisions decisions, const std::function<Reached(const Decisions&, Trial)>& reach) const;

  // What a plan says besides the strategies. Reasons, with the choices that ops had, take longer than the rest.
  enum class Detail { kStrategies, kReasons };
  // The plan that follows from decisions, before anything is divided among replicas. The weight of memory is left out
  // of search.cost.
  ir::Plan PlanOf(const Decisions& decisions, Detail detail) const;
  // `plan`, which PlanOf gave, at a ZeRO level.
  ir::Plan Divided(ir::Plan plan, int zero) const;

 private:
  // What a search makes least: the prices of an objective under `price`.
  struct Pricing {
    ir::Objective objective = ir::Objective::kSpeed;
    ir::Price price = ir::Price::kBytes;
    bool may_leave_idle = true;  // Where the price allows it.
    bool saves_work = false;     // Also on small graphs: the plan is one to compare with others.
  };

  // Products leave axes idle only for speed, and where the user allows it.
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
  // Whole models and models with regions; `pricing` nullopt: each region's own.
  std::optional<Decisions> DecideAll(const std::optional<Pricing>& pricing, double memory_weight,
                                     Diagnostics& diagnostics) const;
  std::optional<Decisions> DecideByRegion(const std::optional<Pricing>& pricing, double memory_weight,
                                          Diagnostics& diagnostics) const;

  // The objective in whose measured quantity the plan is to be the best; nullopt where the search's price decides.
  std::optional<ir::Objective> MeasuredObjective() const;
  IdVector<ir::OpId, ir::OpPlan> OpPlansOf(const Assignment& assignment) const;
  std::optional<Decisions> DecideMeasured(ir::Objective objective, int zero, Diagnostics& diagnostics) const;
  void Improve(ir::Objective objective, int zero, Decisions& decisions) const;
  Measured MeasureOf(const Assignment& assignment, int zero) const;
  // Gives the ops of the update their strategies. Whether they are not those by which the search has priced them.
  bool PlaceUpdate(ir::Plan& plan) const;
  std::string ObjectiveText() const;

  const PlanningTask task_;
  const std::optional<Prices> in_seconds_;  // Where some search of this task needs them.
  const Bundles bundles_;
  const ir::Graph measured_graph_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_PLANNER_H_
