// Attention that goes round: where ranks cut its rows, keys are cut as the queries are, and each rank has one piece of
// them at a time (ir/graph/ops/ring.h).
//
//   graph = WithRings(graph, OpsOfRing(graph, attention));
//
// Without the attribute `ring` each rank that has some of the queries has all keys and values.
#ifndef CLEAVE_IR_GRAPH_RINGS_RINGS_H_
#define CLEAVE_IR_GRAPH_RINGS_RINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave::ir {

// Why the op cannot have the attribute: a clause. nullopt: it can, and is of attention.
std::optional<std::string> WhyNoRing(const Graph& graph, const Op& op);

// The attention `attention` with what it reads of its scores and with its gradients, which all are a ring or none is.
std::vector<OpId> OpsOfRing(const Graph& graph, OpId attention);

// The graph in which these have the attribute. REQUIRES: WhyNoRing is nullopt for each.
Graph WithRings(Graph graph, const std::vector<OpId>& ops);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_RINGS_RINGS_H_
