// The price `classic` of a whole plan by the published rules.
#ifndef CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_
#define CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_

#include "ir/sharding/plan/plan.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// By mesh axis, with products from the end of the graph to its beginning: the sum of the costs of cuts inside ops, and
// of tensors that a decided neighbour cuts differently (search/price/cost/classic.h). For a plan that SAPP found under
// this price without pins it equals SAPP's cost.
double ClassicPrice(const GraphFacts& facts, const ir::Plan& plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_
