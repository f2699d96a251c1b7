// The price `classic` of a whole plan, as the published rules would have charged for it.
#ifndef CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_
#define CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_

#include "ir/sharding/plan/plan.h"
#include "search/cost/facts.h"

namespace cleave::search {

// Level by level, products from the end of the graph to its beginning: what each cut costs inside its op, and what the
// tensors cost that a decided neighbour cuts otherwise (search/cost/classic.h). Of a plan that SAPP found under this
// price without pins: the cost that it found.
double ClassicPrice(const GraphFacts& facts, const ir::Plan& plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_CLASSIC_PRICE_H_
