// Small training graphs, for tests of code that works on whole graphs and programs.
#ifndef CLEAVE_IR_TESTING_GRAPHS_H_
#define CLEAVE_IR_TESTING_GRAPHS_H_

#include <cstdint>

#include "ir/graph/graph.h"
#include "ir/testing/optimizers.h"

namespace cleave::ir {

// The training graph of `forward`, which has a loss.
Graph TrainingGraph(Graph forward, const TestOptimizer& optimizer);

Graph TestMlp(const TestOptimizer& optimizer = {
                  .kind = TestOptimizer::Kind::kMomentum,
                  .rate = 0.1});  // Two dense layers, relu, cross entropy, accuracy, momentum.
Graph TestTiedWeights();          // An embedding table that is also the output projection, Adam.
Graph TestAttention();            // One head-split attention with layer norm and a residual, sgd.

// A state that each step keeps and adds to, of so many steps.
Graph TestScan(int64_t steps);

// A loop over `steps` places of a sequence, which share a weight: ops `h.3.…` and `s.3.tanh`, and a `concat` of what
// all steps make. Adam.
Graph TestRecurrent(int64_t steps);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_GRAPHS_H_
