// Programs of plans, and what they take. Private to search/knobs/memory.
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_MEASURED_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_MEASURED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/recompute/recompute.h"

namespace cleave::search {

// REQUIRES: the plan has a program.
ir::LoweredProgram MustMake(const ir::Graph& graph, const ir::Plan& plan, const Cluster& cluster,
                            const Execution& execution);
// The program that keeps everything, on the device or, where the user asks for it, on the host.
absl::StatusOr<ir::LoweredProgram> Keep(const ir::Graph& graph, ir::Plan plan, const Savings& savings,
                                        const Cluster& cluster, const Execution& execution);
// REQUIRES: the plan has a program.
ir::LoweredProgram MustKeep(const ir::Graph& graph, ir::Plan plan, const Savings& savings, const Cluster& cluster,
                            const Execution& execution);
// `program`: of Keep.
std::unique_ptr<Recomputation> RecomputationOf(const ir::LoweredProgram& program, const Cluster& cluster,
                                               const Savings& savings, const SearchTuning& tuning,
                                               const OpTimes& times = {});

// Where the program does not fit, and its steps are in the order of the graph, moves them to where they take less
// memory, and says so in its plan.
void MoveStepsToFit(Bytes limit, ir::Plan& plan, ir::LoweredProgram& program);

Bytes PeakOf(const ir::LoweredProgram& program);
// The most samples that a rank reads in a step.
int64_t SamplesOfRank(const ir::Graph& graph, const ir::Plan& plan);

// The best of the plans that fit.
class BestFit {
 public:
  // `faster_than`: of a plan that is known already, under the price `time`; others must have a faster step.
  explicit BestFit(std::optional<Seconds> faster_than) {
    if (faster_than.has_value()) cost_ = {0, faster_than->value()};
  }

  // Whether the plan is better than the best one, or what is known already, if its step takes no less than `at_least`:
  // in the time of a step where that is the price, else in the price, then the time.
  bool MayBe(const ir::Plan& plan, Seconds at_least) const {
    return !cost_.has_value() || CostOf(plan, at_least) < *cost_;
  }
  // Of equal plans the first stays. REQUIRES: `fit` is within the limit, and a step takes `seconds`.
  void Offer(Fit fit, Seconds seconds);

  const std::optional<Fit>& fit() const { return fit_; }
  // REQUIRES: there is one.
  Seconds seconds() const { return Seconds(cost_->second); }
  std::optional<Fit> Take() { return std::move(fit_); }

  // What is least of the best plan.
  static std::pair<double, double> CostOf(const ir::Plan& plan, Seconds seconds) {
    return {plan.search.price == "time" ? 0 : plan.search.cost, seconds.value()};
  }

 private:
  std::optional<Fit> fit_;
  std::optional<std::pair<double, double>> cost_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_MEASURED_H_
