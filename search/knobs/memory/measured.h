// Makes programs of plans and measures them; holds the best plan so far. Private to search/knobs/memory.
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
// The program of `plan` that makes nothing again; offloads what the user asks to offload.
absl::StatusOr<ir::LoweredProgram> Keep(const ir::Graph& graph, ir::Plan plan, const Savings& savings,
                                        const Cluster& cluster, const Execution& execution);
// REQUIRES: the plan has a program.
ir::LoweredProgram MustKeep(const ir::Graph& graph, ir::Plan plan, const Savings& savings, const Cluster& cluster,
                            const Execution& execution);
// REQUIRES: `program` is one that Keep made.
std::unique_ptr<Recomputation> RecomputationOf(const ir::LoweredProgram& program, const Cluster& cluster,
                                               const Savings& savings, const SearchTuning& tuning,
                                               const OpTimes& times = {});

// If the program's peak is above `limit` and its steps are in the order of the graph, moves them to where they take
// less memory, and sets `plan.moves_steps`.
void MoveStepsToFit(Bytes limit, ir::Plan& plan, ir::LoweredProgram& program);

Bytes PeakOf(const ir::LoweredProgram& program);
// The most samples that a rank reads in a step.
int64_t SamplesOfRank(const ir::Graph& graph, const ir::Plan& plan);

// The best plan so far among those that fit.
class BestFit {
 public:
  // `faster_than`: the step of a plan that is known already, which others must beat. REQUIRES: nullopt, or the price is
  // `time`.
  explicit BestFit(std::optional<Seconds> faster_than) {
    if (faster_than.has_value()) cost_ = {0, faster_than->value()};
  }

  // Whether the plan could be better than the best one if its step takes at least `at_least`. Plans are compared by
  // step under the price `time`, else by price and then step.
  bool MayBe(const ir::Plan& plan, Seconds at_least) const {
    return !cost_.has_value() || CostOf(plan, at_least) < *cost_;
  }
  // Keeps `fit`, whose step takes `seconds`, if it is better; of equal plans the first stays. REQUIRES: it is within
  // the limit.
  void Offer(Fit fit, Seconds seconds);

  const std::optional<Fit>& fit() const { return fit_; }
  // REQUIRES: there is one.
  Seconds seconds() const { return Seconds(cost_->second); }
  std::optional<Fit> Take() { return std::move(fit_); }

  // The key by which plans are compared; the best plan has the least.
  static std::pair<double, double> CostOf(const ir::Plan& plan, Seconds seconds) {
    return {plan.search.price == "time" ? 0 : plan.search.cost, seconds.value()};
  }

 private:
  std::optional<Fit> fit_;
  std::optional<std::pair<double, double>> cost_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_MEASURED_H_
