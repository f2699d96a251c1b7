// The primitives that all ranks of a group call together, and groups themselves.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_COLLECTIVES_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_COLLECTIVES_H_

#include "frontend/evaluate/frame/context.h"
#include "frontend/manual/primitives.h"

namespace cleave::frontend {

// REQUIRES: all_reduce, all_gather, reduce_scatter, broadcast or all_to_all.
Value CallCollective(Primitive primitive, const CallSite& site, const Context& context);

// `group("dp", "tp")`: names of axes of the mesh, in any order.
Value CallGroup(const CallSite& site, const Context& context);

// `size(g)`: how many ranks there are in a group; `index(g)`: the rank's number in its group.
Value CallSizeOrIndex(Primitive primitive, const CallSite& site, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_COLLECTIVES_H_
