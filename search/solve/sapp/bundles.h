// Bundles: connected sets of light ops, which one mesh axis cuts together when a product next to them changes.
//
// MoveAxis cuts a dimension of one op by an axis and propagates that cut along every edge inside the bundle, forward
// and backward, as far as the rules allow. Linear in the ops of the bundle.
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

// Sets `start` to strategy number `strategy`, and makes the rest of its bundle follow on `axis`. REQUIRES: `start` is
// in a bundle.
void MoveAxis(Assignment& assignment, const Bundles& bundles, ir::OpId start, int strategy, ir::AxisId axis);

// Makes the bundles that read `product`'s value follow it on `axis`.
void FollowDown(Assignment& assignment, const Bundles& bundles, ir::OpId product, ir::AxisId axis);

// Makes the bundles that make what `product` reads follow it on `axis`.
void FollowUp(Assignment& assignment, const Bundles& bundles, ir::OpId product, ir::AxisId axis);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_BUNDLES_H_
