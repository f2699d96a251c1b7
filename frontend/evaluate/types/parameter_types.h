// Binds arguments to the parameters of a function: checks their types, and gives the symbols of shapes their values.
//
// For `fn dense(x: f32[..n, k], units: int)` and an argument f32[8, 6], `..n` is [8] and `k` is 6 from here on.
#ifndef CLEAVE_FRONTEND_EVALUATE_TYPES_PARAMETER_TYPES_H_
#define CLEAVE_FRONTEND_EVALUATE_TYPES_PARAMETER_TYPES_H_

#include <vector>

#include "absl/types/span.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/functions/functions.h"

namespace cleave::frontend {

// With a note where the function hides an op of its name.
Signature SignatureOf(const Function& function);

// Defines the parameters of `function` in `callee`: `values` are those of the arguments `matched`, null and Poison for
// a default. Returns false after a mistake. REQUIRES: callee.function == &function, and no other value is Poison.
bool BindArguments(const Function& function, absl::Span<const dsl::syntax::Argument* const> matched,
                   const std::vector<Value>& values, Frame& callee, const Context& context);

// The value of an argument for a parameter: an initialiser where its type says so. Poison after a mistake.
Value EvaluateArgument(const dsl::syntax::Parameter& parameter, const dsl::syntax::Expression& expression, Frame& frame,
                       const Context& context);

// Checks the value of `expression` against one parameter's type; an int becomes a float if a float is declared.
bool BindParameterType(const dsl::syntax::Parameter& parameter, Value& value, const dsl::syntax::Expression& expression,
                       Frame& callee, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TYPES_PARAMETER_TYPES_H_
