// What memory a program will need on each rank, by kind. Times come from search/cost.
#ifndef CLEAVE_IR_PLAN_PREDICTION_H_
#define CLEAVE_IR_PLAN_PREDICTION_H_

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"

namespace cleave {

// Bytes on the rank that needs most, at the moment of the step when most is needed.
struct MemoryPrediction {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;  // Inputs, values of forward and backward ops.
  Bytes buffers;      // Results of collectives and slices.
  Bytes peak;         // The sum.

  bool operator==(const MemoryPrediction&) const = default;
};

// By liveness over the program's steps, before fusion: a generated program, which keeps the inner values of fused loops
// in registers, needs no more than this but for alignment.
MemoryPrediction PredictMemory(const Graph& graph, const Program& program);

}  // namespace cleave

#endif  // CLEAVE_IR_PLAN_PREDICTION_H_
