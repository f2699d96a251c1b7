// Everything in a graph besides its ops, for passes that write the ops again.
#ifndef CLEAVE_IR_GRAPH_ROLES_H_
#define CLEAVE_IR_GRAPH_ROLES_H_

#include <functional>

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// Gives `to` the names of `from`, its ranks, and its loss, metrics, updates and looks, whose values are now at
// `places`.
void CopyRoles(const Graph& from, const IdVector<OpId, OpId>& places, Graph& to);

// The graph of those ops that stay, and their places in it. REQUIRES: what they read and what has a role stays too.
Graph OnlyOps(Graph all, const std::function<bool(OpId)>& stays, IdVector<OpId, OpId>& places);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_ROLES_H_
