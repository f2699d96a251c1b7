// What a rank lacks when it holds pieces and needs windows.
#ifndef CLEAVE_IR_SHARDING_LAYOUT_BOXES_H_
#define CLEAVE_IR_SHARDING_LAYOUT_BOXES_H_

#include <cstdint>

#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// Elements of a rank's part of `to` that are not in its part of `from`, for the rank that lacks most: these it receives
// in a neighbor_exchange. Looks at every combination of pieces of the windowed dimensions, at most one per rank.
// REQUIRES: `from` is `to` without its windows.
int64_t LargestReceivedElements(const Layout& from, const Layout& to, const Mesh& mesh, const Shape& shape);

// Whether every rank's part of `to` lies within its part of `from`, so that a slice is enough. Each dimension of `to`
// is cut by the axes of `from` and perhaps more; the parts of `from` are pieces.
bool IsWithin(const Layout& from, const Layout& to, const Mesh& mesh, const Shape& shape);

// The axes that cut a windowed dimension, in mesh order.
AxisList WindowedAxes(const Layout& layout);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_LAYOUT_BOXES_H_
