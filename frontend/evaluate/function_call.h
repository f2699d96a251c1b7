// Calls of functions: arguments are bound to parameters, and the body runs in its own frame.
#ifndef CLEAVE_FRONTEND_EVALUATE_FUNCTION_CALL_H_
#define CLEAVE_FRONTEND_EVALUATE_FUNCTION_CALL_H_

#include <vector>

#include "frontend/evaluate/pieces.h"
#include "frontend/functions/functions.h"
#include "frontend/scope/scope.h"

namespace cleave::frontend {

Value CallFunction(const Function& function, const CallSite& site, Pieces& pieces);

// Warns of the unused bindings of a block that has ended.
void WarnOfUnused(const std::vector<Binding>& bindings, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FUNCTION_CALL_H_
