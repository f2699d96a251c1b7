// Random manual models that mix the communication primitives with ordinary ops, for tests of properties that must hold
// for all of them.
#ifndef CLEAVE_IR_TESTING_RANDOM_MANUAL_MODEL_H_
#define CLEAVE_IR_TESTING_RANDOM_MANUAL_MODEL_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/builder.h"
#include "ir/proof/interpret/interpret_ranks.h"

namespace cleave::ir {

using Random = std::mt19937_64;

struct RandomModelOptions {
  std::vector<RankAxis> axes;
  int steps = 8;               // Ops or small groups of ops.
  std::string primitive = {};  // One step is this primitive, on a parameter; empty: any primitive may occur.
};

// The names that RandomModelOptions::primitive takes: the reductions of all_reduce, the other ops of a group, and the
// primitives of neighbor_exchange.
std::vector<std::string> CommunicationPrimitives();

// A forward graph with a loss that is equal on all ranks.
Graph RandomManualModel(const RandomModelOptions& options, Random& random);

// Values in (0.3, 1.2) with signs: equal on all ranks, except for local parameters.
RankSources RandomRankSources(const Graph& graph, Random& random);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_RANDOM_MANUAL_MODEL_H_
