// `search = propagate`: spreads the cuts of pinned ops to all other ops.
//
//   std::optional<Propagation> propagation = Propagate(assignment, demands, pins, diagnostics);
//
// The ops that a pin's cut can reach (reach.h) get the strategies with the least joint price. A product is cut by the
// axes that reach it, on the factors by which they reach it; a light op may also stay replicated, as all ops do that no
// cut reaches. Pins spread in rounds by `#[priority]`, those without one last: a round sees only pins up to its
// priority, and keeps the cuts of earlier rounds. The order in which pins are written does not matter.
#ifndef CLEAVE_SEARCH_SOLVE_PROPAGATE_PROPAGATE_H_
#define CLEAVE_SEARCH_SOLVE_PROPAGATE_PROPAGATE_H_

#include <map>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "ir/sharding/pins/pins.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

struct Propagation {
  // For each op that the pins' axes cut: "follows `h1.matmul` (line 7) on m0 m1, by way of `h1.bias_add`".
  std::map<ir::OpId, std::string> reasons;
  // A lower bound of the cost of any plan with these pins; nullopt with several priorities, which forbid cheaper plans,
  // and where there are too many plans.
  std::optional<double> lower_bound;
};

// Sets all open ops of `assignment`. Warns of pins whose cuts contradict each other (W0605), of cuts that end at an op
// that they do not cut (W0607), and of products that no cut reaches (W0606). nullopt after E0309: no pin, and more than
// one device. REQUIRES: the open ops are replicated; `demands` are those of the assignment, from `pins`.
std::optional<Propagation> Propagate(Assignment& assignment, const OpDemands& demands, const ir::Pins& pins,
                                     Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_PROPAGATE_H_
