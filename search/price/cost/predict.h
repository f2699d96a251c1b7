// The time of a step of a program on a cluster, predicted by the formulas of time.h.
//
// Ops that are emitted as one piece (ir/program/fuse) are one kernel; slices and reshapes take nothing. Kernels run one
// after another, and so do collectives, and copies to the host's memory and back. Where the target overlaps them, a
// collective starts when its inputs are there, and a kernel waits for the collectives that it reads. A copy starts and
// ends within the stages for which memory is held for it (ir/program/fuse/host_copies.h); else everything runs in the
// order of the program.
#ifndef CLEAVE_SEARCH_PRICE_COST_PREDICT_H_
#define CLEAVE_SEARCH_PRICE_COST_PREDICT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units/units.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/execution.h"

namespace cleave::search {

struct Prediction {
  Seconds compute{0};
  Seconds communication{0};
  Seconds host_copies{0};          // Nothing where the cluster does not say how fast they are.
  Seconds step{0};                 // Less than the sum of these where they overlap.
  double sent_bytes_per_rank = 0;  // Unweighted, of all collectives of a training step.

  // What it would take one thing after the other.
  Seconds Alone() const { return compute + communication + host_copies; }
  // How much of the times of its stages alone (StageTimes) a step takes, where some run side by side.
  double ShareOfStages() const { return Alone() > Seconds(0) ? step.value() / Alone().value() : 1; }
};

// What a stage of a fusion would have to have more of to take less time.
enum class Limit {
  kNone,        // It takes no time: slices, reshapes, glances.
  kArithmetic,  // Operations per second.
  kMemory,      // Bandwidth of the device's memory.
  kLaunch,      // It takes the least time of a kernel.
  kLink,        // A collective, or a message to another stage of a pipeline.
  kHost,        // Bandwidth between the device and its host's memory.
  kInput,       // Rate at which samples are read.
};

absl::string_view LimitName(Limit limit);  // "arithmetic"

// What a run of a stage takes.
struct StageCost {
  int64_t runs = 1;  // In a training step; all else is of one of them.
  Seconds seconds{0};
  Flops flops{0};   // Of a kernel.
  Bytes bytes{0};   // That a kernel reads and writes in the device's memory, or that a copy moves.
  double sent = 0;  // Bytes that a rank sends.
  Limit limit = Limit::kNone;

  Seconds AllSeconds() const { return seconds * static_cast<double>(runs); }
};

// Reading the samples of an input.
struct InputCost {
  int step = 0;    // In Program::steps.
  StageCost cost;  // A run for each micro-batch.
};

// What a step is added up from, and the sum.
struct StepCosts {
  std::vector<StageCost> stages;  // As in the fusion. Those of metrics are not part of the sum.
  std::vector<InputCost> inputs;
  Prediction sum;
};

// Metrics are left out: they run at logged steps only. REQUIRES: every axis of the program's mesh crosses a link of the
// cluster.
StepCosts CostsOfStep(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster, bool overlaps);

// The sum alone.
Prediction Predict(const ir::Program& program, const Cluster& cluster, const Execution& execution = {});
// The same where the fusion of the program is known.
Prediction Predict(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster, bool overlaps);

// The time of each stage of the fusion alone, in all its runs in a training step. Nothing for what takes no time of its
// own: slices, reshapes, glances.
std::vector<Seconds> StageTimes(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_PREDICT_H_
