#include "search/solve/propagate/axis_group.h"

#include <algorithm>

#include "search/solve/sapp/choices.h"

namespace cleave::search {

bool CutsBy(const ir::Layout& layout, const AxisGroup& group) {
  return std::any_of(group.begin(), group.end(), [&](ir::AxisId axis) { return DimensionCutBy(layout, axis) >= 0; });
}

bool CutsBy(const Assignment& assignment, ir::OpId op, const AxisGroup& group) {
  const bool cuts = std::any_of(group.begin(), group.end(),
                                [&](ir::AxisId axis) { return FactorCutBy(assignment.strategy(op), axis) >= 0; });
  return cuts || CutsBy(assignment.seen(op), group);
}

bool Agree(const ir::Layout& made, const ir::Layout& wanted, const AxisGroup& group) {
  const ir::AxisList partial = made.PartialAxes();
  return std::all_of(group.begin(), group.end(), [&](ir::AxisId axis) {
    const bool is_partial = std::find(partial.begin(), partial.end(), axis) != partial.end();
    return is_partial || DimensionCutBy(made, axis) == DimensionCutBy(wanted, axis);
  });
}

IdVector<ir::OpId, uint8_t> CarryingValues(const Assignment& assignment) {
  const GraphFacts& facts = assignment.facts();
  IdVector<ir::OpId, uint8_t> carries(facts.graph->ops.size(), 0);
  for (const ir::Op& op : facts.graph->ops) {
    const bool is_pinned = assignment.demands().count(op.id) > 0;
    switch (facts.roles[op.id]) {
      case Role::kProduct:
      case Role::kLight:
      case Role::kParameter:
      case Role::kCopy:
        carries[op.id] = 1;
        break;
      case Role::kInput:
        carries[op.id] = is_pinned || assignment.options().dataset.has_value();
        break;
      case Role::kData:
        carries[op.id] = is_pinned || std::any_of(op.inputs.begin(), op.inputs.end(),
                                                  [&](ir::OpId input) { return carries[input] != 0; });
        break;
      case Role::kConstant:
      case Role::kInherits:
      case Role::kSum:
      case Role::kUpdate:
      case Role::kAside:
        break;
    }
  }
  return carries;
}

}  // namespace cleave::search
