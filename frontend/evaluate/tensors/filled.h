// `zeros((2, 3))`, `ones(shape(x))`, `full((4,), 0.5)`: tensors with one number in all elements, which are no ops but a
// constant that is repeated.
#ifndef CLEAVE_FRONTEND_EVALUATE_TENSORS_FILLED_H_
#define CLEAVE_FRONTEND_EVALUATE_TENSORS_FILLED_H_

#include <string>

#include "frontend/evaluate/frame/context.h"

namespace cleave::frontend {

bool IsFilled(const std::string& callee);

// REQUIRES: the call is one of a callee that IsFilled.
Value Filled(const CallSite& site, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TENSORS_FILLED_H_
