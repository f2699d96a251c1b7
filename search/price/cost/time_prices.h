// The price `time` of a search (docs/cost.md), in seconds.
#ifndef CLEAVE_SEARCH_PRICE_COST_TIME_PRICES_H_
#define CLEAVE_SEARCH_PRICE_COST_TIME_PRICES_H_

#include "ir/program/fuse/fuse.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/mesh/mesh.h"
#include "search/model/cluster/cluster.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/prices.h"

namespace cleave::search {

// By which redistributions are chosen under the price `time`: in a search and in the program. `cluster` outlives the
// result.
ir::CollectivePrice SecondsOfCollectives(const Cluster& cluster, ir::Mesh mesh);

// The arguments outlive the result.
RedistributionPrice SecondsOfRedistributions(const Cluster& cluster, const ir::Mesh& mesh);

// The time of redistributions on the cluster's links, of every op that is not aside on its largest local pieces, as a
// part of its kernel (kernel_share.h), and of the all-reduce of the loss. The arguments outlive the result. REQUIRES:
// VerifyCluster finds no error, and every axis of the mesh crosses a link of the cluster.
Prices TimePrices(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh,
                  const ir::FuseOptions& fuse = {});

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_TIME_PRICES_H_
