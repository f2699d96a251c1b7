// Mesh axes that travel together: those that every pin uses in the same way.
#ifndef CLEAVE_SEARCH_SOLVE_PROPAGATE_AXIS_GROUP_H_
#define CLEAVE_SEARCH_SOLVE_PROPAGATE_AXIS_GROUP_H_

#include <vector>

#include "ir/sharding/layout/layout.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

using AxisGroup = ir::AxisList;  // In the order of the mesh.

bool CutsBy(const ir::Layout& layout, const AxisGroup& group);
// Whether the op, or its value as consumers see it, is cut by an axis of `group`.
bool CutsBy(const Assignment& assignment, ir::OpId op, const AxisGroup& group);

// Whether the value has the same layout at both ends of a read, as far as `group` is concerned. A sum that is partial
// over an axis must be resolved for any reader, so that axis makes no difference.
bool Agree(const ir::Layout& made, const ir::Layout& wanted, const AxisGroup& group);

// The values between whose maker and readers cuts pass: all of the model's, but of data only those whose layout a pin
// or the setting `dataset` decides.
IdVector<ir::OpId, uint8_t> CarryingValues(const Assignment& assignment);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_AXIS_GROUP_H_
