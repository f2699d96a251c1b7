// What a rank holds at each moment of a step, for those who want to see it: docs/memory.md.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_MEMORY_OVER_STEP_H_
#define CLEAVE_IR_PROGRAM_MEMORY_MEMORY_OVER_STEP_H_

#include <array>
#include <cstddef>
#include <vector>

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"

namespace cleave::ir {

inline constexpr std::array<MemoryRole, 6> kMemoryRoles = {MemoryRole::kParameter, MemoryRole::kGradient,
                                                           MemoryRole::kOptimizer, MemoryRole::kActivation,
                                                           MemoryRole::kCache,     MemoryRole::kBuffer};

struct HeldBytes {
  size_t stage = 0;  // In Fusion::stages: during it, or where it is none of them, before it. May be their number.
  std::array<Bytes, kMemoryRoles.size()> by_role = {};  // In the order of kMemoryRoles.

  Bytes sum() const;
};

// The bytes of all buffers that are in use at each stage of the storage, in order. The most of them is the peak without
// the workspace, gaps in the arena and the copy of a checkpoint. REQUIRES: `plan` is PlanMemory(graph, program, …).
std::vector<HeldBytes> MemoryOverStep(const Graph& graph, const Program& program, const MemoryPlan& plan);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_MEMORY_OVER_STEP_H_
