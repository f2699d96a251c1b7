// `search = propagate`: carries cuts from the ops that the user pinned to all others.
//
//   std::optional<Propagation> propagation = Propagate(assignment, demands, pins, diagnostics);
//
// All ops that a pin's cut can reach (reach.h) take, jointly, the strategies of the least price. A product is divided
// by the axes that reach it, on the factors by which they do; a light op may also stay whole. What no cut can reach is
// replicated. Pins spread in the order of `#[priority]`, those without one last: a round sees only the cuts of pins up
// to its own priority, and keeps what the rounds before it cut. The order in which pins are written changes nothing.
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
  // No plan with these pins costs less. nullopt with several priorities, which forbid cheaper plans, and where there
  // are too many plans.
  std::optional<double> lower_bound;
};

// Sets all open ops of `assignment`, which are replicated; `demands` are those of the assignment, from `pins`. Warns of
// pins whose cuts contradict each other (W0605), of cuts that end at an op that they do not cut (W0607), and of
// products that no cut reaches (W0606). nullopt after E0309: there is no pin, and more than one device.
std::optional<Propagation> Propagate(Assignment& assignment, const OpDemands& demands, const ir::Pins& pins,
                                     Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_PROPAGATE_H_
