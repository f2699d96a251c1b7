// `search = propagate`: carries cuts from the ops that the user pinned to all others, forward and backward along the
// graph.
//
//   std::optional<Propagation> propagation = Propagate(assignment, demands, pins, diagnostics);
//
// A cut travels from op to op as their rules let it, and each op that it reaches takes what causes the least
// redistribution between it and its decided neighbours (waves.h). Ops that no cut reaches are replicated. The result
// does not depend on the order in which pins are written; they spread in the order of `#[priority]`, and pins without a
// priority come last.
#ifndef CLEAVE_SEARCH_PROPAGATE_PROPAGATE_H_
#define CLEAVE_SEARCH_PROPAGATE_PROPAGATE_H_

#include <map>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "ir/sharding/pins/pins.h"
#include "search/assignment/assignment.h"

namespace cleave::search {

struct Propagation {
  // For each op that a pin's cut reached: "follows `h1.matmul` (line 7) on m0 m1, by way of `h1.bias_add`".
  std::map<ir::OpId, std::string> reasons;
};

// Sets all open ops of `assignment`, which are replicated; `demands` are those of the assignment, from `pins`. Warns of
// pins whose cuts contradict each other (W0605) and of products that no cut reaches (W0606). nullopt after E0309: there
// is no pin, and more than one device.
std::optional<Propagation> Propagate(Assignment& assignment, const OpDemands& demands, const ir::Pins& pins,
                                     Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PROPAGATE_PROPAGATE_H_
