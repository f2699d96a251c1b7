// Random training graphs over the whole op table, for properties that must hold for every graph.
//
//   Random random(seed);
//   Graph graph = RandomTrainingGraph(random, {.ops = 12});
//
// Every op that may be used in a model and has samples (ir/graph/ops/samples.h) appears sooner or later, so a new op is
// covered without a change here. Values flow from op to op; values that nothing reads go into the loss; forward,
// backward and update ops, metrics and every optimizer are there. Magnitudes stay near 1.
#ifndef CLEAVE_IR_TESTING_RANDOM_GRAPH_H_
#define CLEAVE_IR_TESTING_RANDOM_GRAPH_H_

#include "ir/graph/graph.h"
#include "ir/graph/ops/samples.h"
#include "ir/testing/optimizers.h"

namespace cleave::ir {

struct RandomGraphOptions {
  int ops = 10;              // Of the table; adapters between them, sources, loss and backward ops come on top.
  int64_t largest_size = 6;  // Of a factor.
};

// A forward graph with a loss that depends on a parameter.
Graph RandomForwardGraph(Random& random, const RandomGraphOptions& options);

TestOptimizer RandomOptimizer(Random& random);

Graph RandomTrainingGraph(Random& random, const RandomGraphOptions& options);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_RANDOM_GRAPH_H_
