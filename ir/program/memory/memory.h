// How much memory a program needs on a rank, and for what. memory_plan.h computes it; docs/memory.md explains all of
// it.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_MEMORY_H_
#define CLEAVE_IR_PROGRAM_MEMORY_MEMORY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units/units.h"

namespace cleave::ir {

// Where the copy lies of what a rank writes of a checkpoint.
enum class CheckpointCopy {
  kNone,          // No checkpoints are written.
  kBesideValues,  // In the memory in which the program's values are.
  kOnHost,        // In that of the device's host.
};

// Bytes on the rank that needs most, in the stage of a step that needs most.
struct MemoryPrediction {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;  // Inputs, constants, values of forward and backward ops.
  Bytes cache;        // States of the forward pass: what generation remembers of earlier places.
  Bytes buffers;      // Results of collectives and slices, the workspace, gaps in the arena.
  Bytes checkpoint;   // The copy of parameters and optimizer state that is written to the disk.
  Bytes peak;         // The sum; without `checkpoint` where that is on the host.
  Bytes host;         // In addition, in the memory of the device's host.

  bool operator==(const MemoryPrediction&) const = default;
};

enum class MemoryRole { kParameter, kGradient, kOptimizer, kActivation, kCache, kBuffer };

absl::string_view MemoryRoleName(MemoryRole role);  // "parameter", "optimizer state"

// A buffer of the arena, named after the value that is written into it first.
struct HeldTensor {
  std::string name;
  MemoryRole role = MemoryRole::kActivation;
  Bytes size;
  int line = 0;  // In the model; 0 where no line of it causes the value.

  bool operator==(const HeldTensor&) const = default;
};

struct MemoryUse {
  MemoryPrediction prediction;
  // What is held in the stage of the peak: the largest first, equal ones in the program's order.
  std::vector<HeldTensor> at_peak;
  // The bytes of those values of the forward pass in it that only wait for the backward pass. Computing them again
  // would save this much there.
  Bytes waiting;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_MEMORY_H_
