// The price of the distributed forms of ops (ir/transforms/distribute): of their kernels, which may be several for an
// op that is one kernel while it is not cut, and of collectives inside them, of the statistics of dimensions that are
// cut.
//
//   cost = cost + InnerCost(facts, facts.inner_groups[root], strategy_of, prices);
//
// An op and those that inherit from it share statistics, so they have one price as a group.
#ifndef CLEAVE_SEARCH_PRICE_COST_INNER_COST_H_
#define CLEAVE_SEARCH_PRICE_COST_INNER_COST_H_

#include <functional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/redistribution_prices.h"

namespace cleave::search {

// The price of the distributed forms of `group`: of the kernels of those ops whose inner factors are cut, for which
// Prices::local has none, and of all collectives inside, with the full weight, because kernels wait for statistics. 0
// where no inner factor is cut. REQUIRES: the strategies are valid.
Cost InnerCost(const GraphFacts& facts, const std::vector<ir::OpId>& group,
               const std::function<const ir::Strategy&(ir::OpId)>& strategy_of, RedistributionPrices& prices);

// Whether redistributions of this value inside a distributed form are priced: not those of scalars and vectors.
inline bool InnerValueIsPriced(const ir::Op& inner) { return inner.type.rank() >= 2; }

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_INNER_COST_H_
