// The price `classic` of a whole plan, as the published rules would have charged for it.
#ifndef CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_
#define CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_

#include "ir/sharding/plan/plan.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// Level by level, with products from the end of the graph to its beginning: the cost of each cut inside its op, and the
// cost of the tensors that a decided neighbour cuts in another way (search/price/cost/classic.h). For a plan that SAPP
// found under this price without pins, it is the cost that SAPP found.
double ClassicPrice(const GraphFacts& facts, const ir::Plan& plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_
