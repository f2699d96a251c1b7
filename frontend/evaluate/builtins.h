// Words that look like calls of a function, but are neither functions nor ops: `choose`, `shape`, `assert`.
#ifndef CLEAVE_FRONTEND_EVALUATE_BUILTINS_H_
#define CLEAVE_FRONTEND_EVALUATE_BUILTINS_H_

#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/ranks/manual_model.h"
#include "frontend/functions/functions.h"

namespace cleave::frontend {

// `choose(condition, a, b)` is a where the static condition holds, else b; the other argument is not expanded, unless
// the condition differs between ranks.
Value Choose(const CallSite& site, const FunctionTable& functions, const Context& context);

// `reshape(y, shape(x))`: the sizes of a tensor's dimensions as a tuple.
Value ShapeOf(const CallSite& site, const Context& context);

// `assert(width % heads == 0, "{heads} heads do not divide the width {width}")`, a statement. If it does not hold, it
// ends its function.
void Assert(const CallSite& site, const ManualModel& model, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_BUILTINS_H_
