// SAPP's double recursion as it was published, under the price `classic`: over the mesh axes, slowest link first, and
// on each level over the products from the end of the graph to its beginning; each takes the factor of least relative
// cost (search/price/cost/classic.h), light ops follow at once, shapes shrink, and the next level begins. Twins
// (twins.h) are decided together, so that equal branches of a graph have equal plans. Where
// options.redistribution_weight is 0, each product is decided without its neighbours.
//
// O(axes x products x factors x bundle). There is no refinement: it exists so that published results can be reproduced.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_CLASSIC_GREEDY_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_CLASSIC_GREEDY_H_

#include "search/price/cost/classic.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"

namespace cleave::search {

// Sets all products and light ops of `assignment`. Returns the sum of the costs of the choices.
double GreedyByClassic(Assignment& assignment, const Bundles& bundles, const ClassicOptions& options = {});

// The products of the graph, in program order.
std::vector<ir::OpId> ProductsOf(const GraphFacts& facts);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_CLASSIC_GREEDY_H_
