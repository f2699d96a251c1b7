// SAPP's double recursion as published, under the price `classic`: over the mesh axes, slowest link first, and for each
// over the products from the end of the graph to its beginning. Each product takes the factor of least relative cost
// (search/price/cost/classic.h), and the light ops around it follow. Twins (twins.h) are decided together, so that
// equal branches of a graph have equal plans. With options.redistribution_weight 0 each product is decided without its
// neighbours.
//
// O(axes x products x factors x ops of a bundle). Not refined: it exists so that published results can be reproduced.
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
