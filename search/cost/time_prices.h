// The price `time` of a search (docs/cost.md), in seconds.
#ifndef CLEAVE_SEARCH_COST_TIME_PRICES_H_
#define CLEAVE_SEARCH_COST_TIME_PRICES_H_

#include "ir/sharding/mesh/mesh.h"
#include "search/cluster/cluster.h"
#include "search/cost/facts.h"
#include "search/cost/prices.h"

namespace cleave::search {

// Redistributions on the cluster's links, and every op but those of metrics as a kernel of its own on the largest local
// pieces. The arguments outlive the prices. REQUIRES: VerifyCluster is content, and every axis of the mesh crosses a
// link of the cluster.
Prices TimePrices(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_COST_TIME_PRICES_H_
