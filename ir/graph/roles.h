// Everything in a graph besides its ops, for passes that write the ops again.
#ifndef CLEAVE_IR_GRAPH_ROLES_H_
#define CLEAVE_IR_GRAPH_ROLES_H_

#include <functional>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// Gives `to` the names of `from`, its ranks, the type of its sums, and its loss, metrics, updates and looks, whose
// values are now at `places`.
void CopyRoles(const Graph& from, const IdVector<OpId, OpId>& places, Graph& to);

// Gives `to` the repetition of `from`, what that inherits and whose gradient it is; these ops are now at `places`.
void CopyRelations(const Op& from, const IdVector<OpId, OpId>& places, Op& to);

// The graph of those ops that stay, and their places in it. REQUIRES: what they read and what has a role stays too.
Graph OnlyOps(Graph all, const std::function<bool(OpId)>& stays, IdVector<OpId, OpId>& places);

// What a metric is computed from. Where there are totals, which are sums over the batches of an evaluation, its number
// is that after the last batch; else it is a mean over samples.
struct MetricSources {
  std::vector<OpId> totals;  // In the order of ops.
  std::vector<OpId> inputs;  // Those of a batch that it reads with no total in between.
};
MetricSources MetricSourcesOf(const Graph& graph, OpId metric);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_ROLES_H_
