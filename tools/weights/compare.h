// What differs between two sources of weights.
#ifndef CLEAVE_TOOLS_WEIGHTS_COMPARE_H_
#define CLEAVE_TOOLS_WEIGHTS_COMPARE_H_

#include <cstdint>
#include <string>

#include "runtime/error/error.h"
#include "tools/weights/source.h"

namespace cleave::tools {

struct WeightComparison {
  std::string text;       // A table of the tensors that differ, and the sum.
  bool is_within = true;  // Both have the same names and shapes, and no value differs by more than the tolerance.
};

// Tensors are compared as f32; of others only types and shapes are. Two values that are not numbers are equal, and one
// differs infinitely from a number. Has two tensors in memory at a time.
runtime::Result<WeightComparison> CompareWeights(const WeightSource& a, const WeightSource& b, double tolerance);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_COMPARE_H_
