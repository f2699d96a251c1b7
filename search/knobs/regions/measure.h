// Measures the program of a plan by the functions that compute a compile's report.
//
//   const Measured measured = Measure(training_graph, plan, cluster, execution);
//   if (IsBetter(ir::Objective::kMemory, measured, best)) ...
#ifndef CLEAVE_SEARCH_KNOBS_REGIONS_MEASURE_H_
#define CLEAVE_SEARCH_KNOBS_REGIONS_MEASURE_H_

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/execution.h"

namespace cleave::search {

struct Measured {
  Seconds step{0};        // Predict.
  Bytes peak{0};          // PlanMemory.
  double sent_bytes = 0;  // In a step, on all links alike.
};

// REQUIRES: VerifyGraph and VerifyPlan find no error.
Measured Measure(const ir::Graph& training_graph, const ir::Plan& plan, const Cluster& cluster,
                 const Execution& execution);

// Whether `a` is better for `objective`: by step, peak or bytes sent; of equals the faster one, then the one that needs
// less memory.
bool IsBetter(ir::Objective objective, const Measured& a, const Measured& b);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_REGIONS_MEASURE_H_
