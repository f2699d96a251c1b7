#include "ir/program/lower/lower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel/parallel.h"
#include "base/status/status_macros.h"
#include "ir/program/lower/offload.h"
#include "ir/program/order/order.h"
#include "ir/program/order/overlap.h"
#include "ir/program/partition/part_program.h"
#include "ir/program/partition/partition.h"

namespace cleave::ir {
namespace {

// The programs of all stages of a pipeline.
LoweredProgram LowerStages(Distributed distributed, Program program, const LowerOptions& options) {
  LoweredProgram made{.distributed = std::move(distributed), .program = std::move(program), .memory = {}};
  std::vector<Program> parts = ProgramsOfParts(made.program);
  made.parts = MapInParallel(parts.size(), [&](size_t part) {
    MemoryPlan memory = PlanMemory(made.distributed.graph, parts[part], options.fuse, options.checkpoint);
    return PartProgram{.program = std::move(parts[part]), .memory = std::move(memory)};
  });
  const auto needs_less = [](const PartProgram& a, const PartProgram& b) {
    return a.memory.use.prediction.peak < b.memory.use.prediction.peak;
  };
  made.memory = std::max_element(made.parts.begin(), made.parts.end(), needs_less)->memory;
  return made;
}

}  // namespace

absl::StatusOr<LoweredProgram> Lower(const Graph& training_graph, const Plan& plan, const LowerOptions& options) {
  CLEAVE_ASSIGN_OR_RETURN(Distributed distributed, Distribute(training_graph, plan));
  CLEAVE_RETURN_IF_ERROR(DropIdleOffloads(options.fuse, options.price, distributed));
  const PartitionOptions partition{.piece_counts = options.fuse.piece_counts,
                                   .price = options.price,
                                   .ways = options.shared != nullptr ? &options.shared->ways : nullptr,
                                   .layers = options.layers};
  CLEAVE_ASSIGN_OR_RETURN(Program apart, WithoutMessages(distributed.graph, distributed.plan, partition));
  const auto with_messages = [&](Program own, const BucketSizes& sizes) {
    PartitionOptions own_options = partition;
    own_options.buckets = sizes;
    return WithMessages(distributed.graph, distributed.plan, std::move(own), own_options);
  };
  const bool may_be_larger = options.stage_times != nullptr && options.bucket_sizes != nullptr;
  Program program = with_messages(may_be_larger ? Program(apart) : std::move(apart), {});
  if (options.stage_times != nullptr) {
    const auto ordered = [&](Program own, const Fusion& fusion, const std::vector<Seconds>& seconds) {
      return OrderForOverlap(std::move(own), fusion, seconds,
                             options.shared != nullptr ? &options.shared->orders : nullptr);
    };
    const Fusion fusion = Fuse(program, options.fuse);
    const std::vector<Seconds> seconds = options.stage_times(program, fusion);
    std::vector<BucketSizes> sizes;
    if (may_be_larger) sizes = options.bucket_sizes(program, fusion, seconds);
    program = ordered(std::move(program), fusion, seconds);
    const bool is_pipeline = program.pipeline.has_value();
    std::optional<Seconds> least;
    if (!sizes.empty() && !is_pipeline) least = options.step_time(program);
    for (const BucketSizes& own : sizes) {
      Program other = with_messages(Program(apart), own);
      const Fusion other_fusion = Fuse(other, options.fuse);
      const std::vector<Seconds> other_seconds = options.stage_times(other, other_fusion);
      other = ordered(std::move(other), other_fusion, other_seconds);
      const Seconds step = is_pipeline ? Seconds(0) : options.step_time(other);
      if (least.has_value() && step >= *least) continue;
      least = step;
      program = std::move(other);
    }
  }
  if (program.pipeline.has_value()) return LowerStages(std::move(distributed), std::move(program), options);
  MemoryPlan memory = PlanMemory(distributed.graph, program, options.fuse, options.checkpoint);
  if (plan.moves_steps) OrderForMemory(distributed.graph, program, memory);
  return LoweredProgram{
      .distributed = std::move(distributed), .program = std::move(program), .memory = std::move(memory)};
}

}  // namespace cleave::ir
