// How a program lies in memory on a rank: what runs as one piece, which values share a buffer, and how much that takes.
//
//   MemoryPlan plan = PlanMemory(graph, program);
//   plan.storage.buffers          // The arena that the generated program has.
//   plan.use.prediction.peak      // What the generated program allocates, as run.json counts it.
//   plan.use.at_peak.front()      // The largest tensor of the stage that needs most.
//
// A compile makes this plan once: the predictions and the generated program are both taken from it. Besides the arena
// there are buffers in which the runtime packs messages and reorders tensors into the layouts of libraries
// (workspace.h), and the copy of what is written to the disk (checkpoint.h).
#ifndef CLEAVE_IR_PROGRAM_MEMORY_MEMORY_PLAN_H_
#define CLEAVE_IR_PROGRAM_MEMORY_MEMORY_PLAN_H_

#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/memory/memory.h"
#include "ir/program/program.h"

namespace cleave::ir {

struct MemoryPlan {
  FuseOptions fuse;  // What the target computes as one piece.
  CheckpointCopy checkpoint = CheckpointCopy::kNone;
  Fusion fusion;
  Storage storage;
  MemoryUse use;
};

// What a part of the ranks of a pipeline runs, and how it lies in their memory.
struct PartProgram {
  Program program;
  MemoryPlan memory;
};

// REQUIRES: `program` was made from `graph`, and is no pipeline's or that of a stage.
MemoryPlan PlanMemory(const Graph& graph, const Program& program, const FuseOptions& fuse = {},
                      CheckpointCopy checkpoint = CheckpointCopy::kNone);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_MEMORY_PLAN_H_
