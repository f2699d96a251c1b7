// Words that look like calls of a function, but are neither functions nor ops: `choose`, `shape`, `ndim`, `floor`,
// `int`, `assert`.
#ifndef CLEAVE_FRONTEND_EVALUATE_BUILTINS_H_
#define CLEAVE_FRONTEND_EVALUATE_BUILTINS_H_

#include <string>

#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/ranks/manual_model.h"
#include "frontend/functions/functions.h"

namespace cleave::frontend {

// `choose(condition, a, b)` is a where the static condition holds, else b; the other argument is not expanded, unless
// the condition differs between ranks or steps.
Value Choose(const CallSite& site, const FunctionTable& functions, const Context& context);

// `floor(step / 30)`: the largest whole number that is not above a number.
Value Floor(const CallSite& site, const Context& context);

// `int(1.5 * width)`: a number without its fraction.
Value Int(const CallSite& site, const Context& context);

// `reshape(y, shape(x))`: the sizes of a tensor's dimensions as a tuple. `callee`: what the function is called.
Value ShapeOf(const CallSite& site, const Context& context, const std::string& callee = "shape");

// `ndim(x)`: how many dimensions a tensor has.
Value DimensionCount(const CallSite& site, const Context& context);

// `assert(width % heads == 0, "{heads} heads do not divide the width {width}")`, a statement. If it does not hold, it
// ends its function.
void Assert(const CallSite& site, const ManualModel& model, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_BUILTINS_H_
