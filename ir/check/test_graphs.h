// Small training graphs and plans for tests of what works on whole programs.
#ifndef CLEAVE_IR_CHECK_TEST_GRAPHS_H_
#define CLEAVE_IR_CHECK_TEST_GRAPHS_H_

#include <random>

#include "ir/graph/graph.h"
#include "ir/mesh/mesh.h"
#include "ir/plan/plan.h"

namespace cleave {

Graph TestMlp();          // Two dense layers, relu, cross entropy, accuracy, momentum.
Graph TestTiedWeights();  // An embedding table that is also the output projection, Adam.
Graph TestAttention();    // One head-split attention with layer norm and a residual, sgd.

// The batch cut by every axis, everything else whole.
Plan DataParallelPlan(const Graph& graph, const Mesh& mesh);

// Every op cut in some valid way, backward ops sometimes as their forward op.
Plan RandomPlan(const Graph& graph, const Mesh& mesh, std::mt19937_64& random);

}  // namespace cleave

#endif  // CLEAVE_IR_CHECK_TEST_GRAPHS_H_
