// What memory a program needs on a rank, and for what.
//
//   MemoryUse use = MemoryOf(graph, program);
//   use.prediction.peak       // What the generated program allocates, as run.json counts it.
//   use.at_peak.front()       // The largest tensor of the stage that needs most.
//
// The arena is the one that code generation lays out (ir/fuse); beside it stand the buffers in which the runtime packs
// what it sends and reorders what libraries want in their own layouts (workspace.h). docs/memory.md has the whole
// count.
#ifndef CLEAVE_IR_MEMORY_MEMORY_H_
#define CLEAVE_IR_MEMORY_MEMORY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units/units.h"
#include "ir/fuse/fuse.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"

namespace cleave {

// Bytes on the rank that needs most, in the stage of a step that needs most.
struct MemoryPrediction {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;  // Inputs, constants, values of forward and backward ops.
  Bytes buffers;      // Results of collectives and slices, the workspace, gaps in the arena.
  Bytes peak;         // The sum.

  bool operator==(const MemoryPrediction&) const = default;
};

enum class MemoryRole { kParameter, kGradient, kOptimizer, kActivation, kBuffer };

absl::string_view MemoryRoleName(MemoryRole role);  // "parameter", "optimizer state"

// A buffer of the arena, named after the value that is written into it first.
struct HeldTensor {
  std::string name;
  MemoryRole role = MemoryRole::kActivation;
  Bytes size;
  int line = 0;  // In the model; 0 where no line of it stands behind the value.

  bool operator==(const HeldTensor&) const = default;
};

struct MemoryUse {
  MemoryPrediction prediction;
  std::vector<HeldTensor>
      at_peak;  // What is held in the stage of the peak: largest first, of equals in the program's order.
  // Of it values of the forward pass that only wait for the backward pass: what computing them again would save there.
  Bytes waiting;
};

// `fuse`: what the target computes as one piece. REQUIRES: `program` was made of `graph`.
MemoryUse MemoryOf(const Graph& graph, const Program& program, const FuseOptions& fuse = {});

}  // namespace cleave

#endif  // CLEAVE_IR_MEMORY_MEMORY_H_
