// Where the cuts of a finished plan come from: for each op the pin that it follows, and the last op on the way.
//
//   const Trails trails(assignment, group, {pinned});
//   if (trails.followed(op).has_value()) ... "follows `pin`, by way of `neighbour`"
//
// A trail goes from op to op where the value between them lies as it is read, breadth first from the pins in their
// order. Ops that are cut as well, but by way of a redistribution, follow after all those.
#ifndef CLEAVE_SEARCH_SOLVE_PROPAGATE_TRAILS_H_
#define CLEAVE_SEARCH_SOLVE_PROPAGATE_TRAILS_H_

#include <optional>
#include <vector>

#include "search/solve/assignment/assignment.h"
#include "search/solve/propagate/axis_group.h"

namespace cleave::search {

// The origin of an op's cut.
struct Followed {
  ir::OpId pin;        // The pinned op at the beginning.
  ir::OpId neighbour;  // The last op on the way; a pin is its own.
};

class Trails {
 public:
  // `pins` in the order in which they spread.
  Trails(const Assignment& assignment, const AxisGroup& group, const std::vector<ir::OpId>& pins);

  // nullopt where the group does not cut the op, or nothing leads to it.
  const std::optional<Followed>& followed(ir::OpId op) const { return followed_[op]; }

 private:
  void Walk(const Assignment& assignment, const AxisGroup& group, const IdVector<ir::OpId, uint8_t>& carries,
            bool as_it_lies);

  IdVector<ir::OpId, std::optional<Followed>> followed_;
  std::vector<ir::OpId> found_;  // In the order in which they were.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_TRAILS_H_
