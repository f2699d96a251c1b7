// Predicts the time of a program's step on a cluster by the formulas of time.h.
//
// A StageCost or stage_times entry is of a fused step (ir::FusedStage: a kernel, collective or copy), not of a stage of
// a pipeline.
//
// Ops that are fused (ir/program/fuse) are one kernel; slices and reshapes take no time. On targets that overlap,
// kernels, collectives, and copies to the host and back are three queues: a collective starts when its inputs are
// there, a kernel waits for the collectives that it reads, and a copy runs within the fused steps during which it has
// memory (ir/program/fuse/host_copies.h). Elsewhere everything runs one after another.
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
  Seconds host_copies{0};          // 0 where the cluster gives no rate.
  Seconds step{0};                 // Less than their sum where they overlap.
  double sent_bytes_per_rank = 0;  // Unweighted, of all collectives of a training step.

  // The step without overlap.
  Seconds Alone() const { return compute + communication + host_copies; }
  // The step as a share of the sum of StageTimes; 1 without overlap.
  double ShareOfStages() const { return Alone() > Seconds(0) ? step.value() / Alone().value() : 1; }
};

// The resource that limits a fused step.
enum class Limit {
  kNone,        // It takes no time: slices, reshapes, looks.
  kArithmetic,  // Operations per second.
  kMemory,      // Bandwidth of the device's memory.
  kLaunch,      // The least time of a kernel.
  kLink,        // A collective, or a message to another stage of a pipeline.
  kHost,        // Bandwidth between the device and its host's memory.
  kInput,       // Rate at which samples are read.
};

absl::string_view LimitName(Limit limit);  // "arithmetic"

// One run of a fused step.
struct StageCost {
  int64_t runs = 1;  // In a training step. All else is of one run.
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

// The parts of a predicted step, and their sum.
struct StepCosts {
  std::vector<StageCost> stages;  // By index in Fusion::stages. Those of metrics are not in the sum.
  // When each stage begins, and then does all of its runs; 0 for those of metrics and those that take no time.
  // What computing loses beside communication (Cluster::overlap_slowdown) is not in it: it is added to the end.
  std::vector<Seconds> begins;
  std::vector<InputCost> inputs;
  Prediction sum;
};

// The sum is without metrics, which run at logged steps only. REQUIRES: every axis of the program's mesh crosses a link
// of the cluster.
StepCosts CostsOfStep(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster, bool overlaps);

// CostsOfStep(...).sum.
Prediction Predict(const ir::Program& program, const Cluster& cluster, const Execution& execution = {});
// The same for a known fusion of the program.
Prediction Predict(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster, bool overlaps);

// By index in Fusion::stages, the time alone of all its runs in a training step; 0 for slices, reshapes and looks.
std::vector<Seconds> StageTimes(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_PREDICT_H_
