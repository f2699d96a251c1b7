// Calls of the primitives of manual models: all-reduce and its like, exchanges between neighbours, groups.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_PRIMITIVE_CALL_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_PRIMITIVE_CALL_H_

#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/ranks/manual_model.h"
#include "frontend/evaluate/ranks/messages.h"
#include "frontend/manual/primitives.h"

namespace cleave::frontend {

// `is_mapped`: inside of a function that `vmap` maps, where nothing can be received.
Value CallPrimitive(Primitive primitive, const CallSite& site, const ManualModel& model, bool is_mapped,
                    Messages& messages, const Context& context);

// The statement `send(x, to = …);`.
void RunSend(const CallSite& site, bool is_mapped, Messages& messages, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_PRIMITIVE_CALL_H_
