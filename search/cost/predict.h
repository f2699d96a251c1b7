// The time of a step of a program on a cluster, predicted by the formulas of time.h.
//
// The time of a step is the sum over its kernels and collectives: generated programs do one after the other. Ops that
// are emitted as one piece (ir/program/fuse) are one kernel; slices and reshapes take nothing.
#ifndef CLEAVE_SEARCH_COST_PREDICT_H_
#define CLEAVE_SEARCH_COST_PREDICT_H_

#include "base/units/units.h"
#include "ir/program/program.h"
#include "search/cluster/cluster.h"

namespace cleave::search {

struct Prediction {
  Seconds compute{0};
  Seconds communication{0};
  double sent_bytes_per_rank = 0;  // Unweighted, of all collectives of a training step.

  Seconds step() const { return compute + communication; }
};

// Metrics are left out: they run at logged steps only. REQUIRES: every axis of the program's mesh crosses a link of the
// cluster.
Prediction Predict(const ir::Program& program, const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_COST_PREDICT_H_
