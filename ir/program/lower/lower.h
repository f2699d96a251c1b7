// From a plan to the program of a rank, with its memory. The only way there: search measures what it makes, the driver
// proves and writes it, and tests run it.
//
//   absl::StatusOr<LoweredProgram> made = Lower(training_graph, plan, {.fuse = FusedByCpu()});
//   made->program.steps, made->memory.use.prediction.peak
#ifndef CLEAVE_IR_PROGRAM_LOWER_LOWER_H_
#define CLEAVE_IR_PROGRAM_LOWER_LOWER_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/order/overlap.h"
#include "ir/program/partition/merge.h"
#include "ir/program/program.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// The program of a plan, the graph that it was made from, and how it lies in memory.
struct LoweredProgram {
  Distributed distributed;
  Program program;
  MemoryPlan memory;                    // Of a pipeline that of the ranks that need most.
  std::vector<PartProgram> parts = {};  // Of a pipeline.
};

// What the programs of one mesh and price have in common: each is made faster, and none depends on what was made
// before. Thread-safe.
struct SharedLowering {
  SharedRedistributions ways;
  OverlapOrders orders = {};
};

// How the target runs programs, as far as it decides what they are.
struct LowerOptions {
  FuseOptions fuse = {};
  CollectivePrice price = nullptr;  // PartitionOptions::price.
  CheckpointCopy checkpoint = CheckpointCopy::kNone;
  // Where collectives run beside kernels: the time of each stage of the fusion, by which steps are ordered. Null where
  // nothing overlaps.
  std::function<std::vector<Seconds>(const Program& program, const Fusion& fusion)> stage_times = nullptr;
  // Where `stage_times` is given: how many bytes collectives of several tensors might better take at once, by what the
  // program is with buckets of kBucketBytes. That with the least `step_time` is taken, or the first of them where there
  // are stages of a pipeline. Null: kBucketBytes.
  std::function<std::vector<BucketSizes>(const Program& program, const Fusion& fusion,
                                         const std::vector<Seconds>& stage_times)>
      bucket_sizes = nullptr;
  std::function<Seconds(const Program& program)> step_time = nullptr;
  double layers = 1;                 // PartitionOptions::layers.
  SharedLowering* shared = nullptr;  // Of the plan's mesh and `price`; null: nothing is shared.
};

// Distribute, Partition, OrderForOverlap where the target overlaps, PlanMemory, and OrderForMemory where the plan says
// so. What a plan offloads without saving memory is kept. An Internal error where one of them finds one. REQUIRES:
// VerifyGraph and VerifyPlan find no error.
absl::StatusOr<LoweredProgram> Lower(const Graph& training_graph, const Plan& plan, const LowerOptions& options = {});

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_LOWER_LOWER_H_
