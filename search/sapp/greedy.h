// SAPP's double recursion: over the mesh axes, slowest link first, and on each level over the products, heaviest first;
// each takes the factor of least relative cost, light ops follow at once, shapes shrink, next level.
//
// O(axes x products x factors x bundle). Its result is where refine starts from; under the classic price it is the
// answer.
#ifndef CLEAVE_SEARCH_SAPP_GREEDY_H_
#define CLEAVE_SEARCH_SAPP_GREEDY_H_

#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave {

// Sets all products and light ops of `assignment` under the price `bytes`.
void GreedyByBytes(Assignment& assignment, const Bundles& bundles);

// The same under the price `classic`: products from the end of the graph to its beginning. Returns the sum of the costs
// of the choices.
double GreedyByClassic(Assignment& assignment, const Bundles& bundles);

// The products of the graph, in program order.
std::vector<OpId> ProductsOf(const GraphFacts& facts);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_GREEDY_H_
