// Groups of mesh axes that every pin uses in the same way, and that therefore spread together.
#ifndef CLEAVE_SEARCH_SOLVE_PROPAGATE_AXIS_GROUP_H_
#define CLEAVE_SEARCH_SOLVE_PROPAGATE_AXIS_GROUP_H_

#include <vector>

#include "ir/sharding/layout/layout.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

using AxisGroup = ir::AxisList;  // In the order of the mesh.

bool CutsBy(const ir::Layout& layout, const AxisGroup& group);
// Whether an axis of `group` cuts the op, or its value as readers see it.
bool CutsBy(const Assignment& assignment, ir::OpId op, const AxisGroup& group);

// Whether the layouts `made` and `wanted` of a value cut it alike by `group`. Axes over which `made` is partial do not
// count: any reader needs the complete sum.
bool Agree(const ir::Layout& made, const ir::Layout& wanted, const AxisGroup& group);

// By op, whether cuts spread between its value's maker and readers: true but for data whose layout neither a pin nor
// the setting `dataset` decides.
IdVector<ir::OpId, uint8_t> CarryingValues(const Assignment& assignment);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_AXIS_GROUP_H_
