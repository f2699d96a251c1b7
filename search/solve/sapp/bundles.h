// Light ops between products, and how they follow: a bundle is a connected set of light ops, through which one mesh
// axis passes as one cut of their values.
//
// MoveAxis starts at one op of a bundle, cuts a dimension there by an axis, and carries that cut along every edge
// inside the bundle, forward and backward, as far as the rules let it pass. Linear in the ops of the bundle.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_BUNDLES_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_BUNDLES_H_

#include <vector>

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

struct Bundles {
  std::vector<std::vector<ir::OpId>> bundles;  // Each in program order; ordered by their first op.
  IdVector<ir::OpId, int> bundle_of;           // -1: not a light op.
};

Bundles FindBundles(const GraphFacts& facts);

// Gives `start` its strategy number `strategy`, and makes its whole bundle follow on `axis`. REQUIRES: start is in a
// bundle.
void MoveAxis(Assignment& assignment, const Bundles& bundles, ir::OpId start, int strategy, ir::AxisId axis);

// The bundles that read `product`'s value follow it on `axis`.
void FollowDown(Assignment& assignment, const Bundles& bundles, ir::OpId product, ir::AxisId axis);

// The bundles that make what `product` reads follow it on `axis`.
void FollowUp(Assignment& assignment, const Bundles& bundles, ir::OpId product, ir::AxisId axis);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_BUNDLES_H_
