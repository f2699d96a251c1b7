// Light ops between products, and how they follow: a bundle is a connected set of light ops, through which one mesh axis passes as
// one cut of their values.
//
// MoveAxis starts at one op of a bundle, cuts a dimension there by an axis, and carries that cut along every edge inside the bundle,
// forward and backward, as far as the rules let it pass. Linear in the ops of the bundle.
#ifndef CLEAVE_SEARCH_SAPP_BUNDLES_H_
#define CLEAVE_SEARCH_SAPP_BUNDLES_H_

#include <optional>
#include <vector>

#include "search/assignment/assignment.h"

namespace cleave {

struct Bundles {
  std::vector<std::vector<OpId>> bundles;       // Each in program order; ordered by their first op.
  IdVector<OpId, int> bundle_of;                // -1: not a light op.
};

Bundles FindBundles(const GraphFacts& facts);

// `strategy` without `axis`.
Strategy Without(const Strategy& strategy, AxisId axis);

// `strategy`, which does not use `axis`, with dimension `dimension` of a tensor cut by it; nullopt where the rule has no such cut. In a
// factor the axis takes the place that it has in `order`.
std::optional<Strategy> WithDimensionCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh,
                                         const std::vector<FactorList>& dimensions, size_t dimension, AxisId axis,
                                         const std::vector<AxisId>& order);

// The same for one factor.
std::optional<Strategy> WithFactorCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor,
                                      AxisId axis, const std::vector<AxisId>& order);

// The dimension of `layout` that `axis` cuts; -1 for none.
int DimensionCutBy(const Layout& layout, AxisId axis);

// The whole bundle with `axis` where `start` has it in `strategy`. REQUIRES: start is in the bundle.
std::vector<Change> MoveAxis(const Assignment& assignment, const Bundles& bundles, OpId start, const Strategy& strategy,
                             AxisId axis);

// The bundles that read `product`'s value follow it on `axis`.
void FollowDown(Assignment& assignment, const Bundles& bundles, OpId product, AxisId axis);

// The bundles that make what `product` reads follow it on `axis`.
void FollowUp(Assignment& assignment, const Bundles& bundles, OpId product, AxisId axis);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_BUNDLES_H_
