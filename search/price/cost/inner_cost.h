// The price of what the distributed forms of ops send between their own ops: the statistics of dimensions that are cut.
//
//   cost = cost + InnerCost(facts, facts.inner_groups[root], strategy_of, prices);
//
// An op and those that inherit from it share statistics (ir/transforms/distribute), so their price is that of the
// group.
#ifndef CLEAVE_SEARCH_PRICE_COST_INNER_COST_H_
#define CLEAVE_SEARCH_PRICE_COST_INNER_COST_H_

#include <functional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/redistribution_prices.h"

namespace cleave::search {

// The price of the collectives inside the distributed forms of the group's members; nothing where no inner factor is
// cut. Readers of statistics wait for them, so the price has the full weight. REQUIRES: the strategies are valid.
Cost InnerCost(const GraphFacts& facts, const std::vector<ir::OpId>& group,
               const std::function<const ir::Strategy&(ir::OpId)>& strategy_of, RedistributionPrices& prices);

// Whether the values inside of a distributed form are priced: scalars and vectors are not.
inline bool InnerValueIsPriced(const ir::Op& inner) { return inner.type.rank() >= 2; }

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_INNER_COST_H_
