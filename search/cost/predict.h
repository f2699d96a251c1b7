// A rough prediction of what a step of a program takes on a cluster.
//
// Compute: for each local op the larger of flops / peak rate and bytes touched / memory bandwidth, plus the latency of
// a kernel. Communication: for each collective bytes sent / bandwidth of the slowest link it crosses, plus its latency.
// The step is their sum: no overlap is assumed. Good for orders of magnitude and for comparing plans of one model, not
// for schedules.
#ifndef CLEAVE_SEARCH_COST_PREDICT_H_
#define CLEAVE_SEARCH_COST_PREDICT_H_

#include "base/units/units.h"
#include "ir/program/program.h"
#include "search/cluster/cluster.h"

namespace cleave {

struct Prediction {
  Seconds compute{0};
  Seconds communication{0};
  double sent_bytes_per_rank = 0;  // Unweighted, of all collectives of a training step.

  Seconds step() const { return compute + communication; }
};

// Metrics are left out: they run at logged steps only.
Prediction Predict(const Program& program, const Cluster& cluster);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_COST_PREDICT_H_
