// What the program of a plan takes on a rank: the quantities that a compile reports, from the functions that compute
// the report.
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

// Whether `a` takes less of what `objective` makes least: the time of a step, the memory at its peak, or the bytes
// sent. Of equals the faster one is better, then the one that needs less memory.
bool IsBetter(ir::Objective objective, const Measured& a, const Measured& b);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_REGIONS_MEASURE_H_
