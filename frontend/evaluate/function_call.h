// Calls of functions: arguments are bound to parameters, and the body runs in its own frame.
#ifndef CLEAVE_FRONTEND_EVALUATE_FUNCTION_CALL_H_
#define CLEAVE_FRONTEND_EVALUATE_FUNCTION_CALL_H_

#include <vector>

#include "frontend/evaluate/pieces.h"
#include "frontend/functions/functions.h"
#include "frontend/scope/scope.h"

namespace cleave::frontend {

// `layer`: the one that is called, whose arguments and parameters the call has; null for a call of the function itself.
Value CallFunction(const Function& function, const CallSite& site, Pieces& pieces, Layer* layer = nullptr);

// Whether a call in the text of `frame` makes parameters: its function has some, or is given one that has.
bool OwnsParameters(const dsl::syntax::Call& call, const Frame& frame, Pieces& pieces);

// Warns of the unused bindings of a block that has ended.
void WarnOfUnused(const std::vector<Binding>& bindings, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FUNCTION_CALL_H_
