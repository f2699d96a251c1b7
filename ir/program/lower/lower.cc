#include "ir/program/lower/lower.h"

#include <algorithm>
#include <utility>

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
  PartitionOptions partition{.price = options.price,
                             .ways = options.shared != nullptr ? &options.shared->ways : nullptr,
                             .layers = options.layers};
  CLEAVE_ASSIGN_OR_RETURN(Program apart, WithoutMessages(distributed.graph, distributed.plan, partition));
  const bool may_be_larger = options.stage_times != nullptr && options.reduction_bytes != nullptr;
  const auto with_messages = [&](Program own) {
    return WithMessages(distributed.graph, distributed.plan, std::move(own), partition);
  };
  Program program = with_messages(may_be_larger ? Program(apart) : std::move(apart));
  if (options.stage_times != nullptr) {
    Fusion fusion = Fuse(program, options.fuse);
    std::vector<Seconds> seconds = options.stage_times(program, fusion);
    const Bytes bytes = may_be_larger ? options.reduction_bytes(program, fusion, seconds) : kBucketBytes;
    if (bytes > kBucketBytes) {
      partition.reduction_bytes = bytes;
      program = with_messages(std::move(apart));
      fusion = Fuse(program, options.fuse);
      seconds = options.stage_times(program, fusion);
    }
    program = OrderForOverlap(std::move(program), fusion, seconds,
                              options.shared != nullptr ? &options.shared->orders : nullptr);
  }
  if (program.pipeline.has_value()) return LowerStages(std::move(distributed), std::move(program), options);
  MemoryPlan memory = PlanMemory(distributed.graph, program, options.fuse, options.checkpoint);
  if (plan.moves_steps) OrderForMemory(distributed.graph, program, memory);
  return LoweredProgram{
      .distributed = std::move(distributed), .program = std::move(program), .memory = std::move(memory)};
}

}  // namespace cleave::ir
