// Traces the cuts of a finished plan back to pins: for each op the pin that it follows, and the last op on the way.
//
//   const Trails trails(assignment, group, {pinned});
//   if (trails.followed(op).has_value()) ... "follows `pin`, by way of `neighbour`"
//
// Breadth-first search from the pins, in their order, along values that are read without a redistribution; then along
// all others, for ops that are cut but not reached yet.
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
  ir::OpId neighbour;  // The last op on the way; of a pin itself.
};

class Trails {
 public:
  // `pins` in the order in which they spread.
  Trails(const Assignment& assignment, const AxisGroup& group, const std::vector<ir::OpId>& pins);

  // nullopt where the group does not cut the op, or no way leads to it.
  const std::optional<Followed>& followed(ir::OpId op) const { return followed_[op]; }

 private:
  void Walk(const Assignment& assignment, const AxisGroup& group, const IdVector<ir::OpId, uint8_t>& carries,
            bool as_it_lies);

  IdVector<ir::OpId, std::optional<Followed>> followed_;
  std::vector<ir::OpId> found_;  // In the order in which they were found.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_TRAILS_H_
