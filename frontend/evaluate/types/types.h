// Types as they are written: a dimension is an expression whose value is an int, and `..n` is a list that the call has
// bound.
#ifndef CLEAVE_FRONTEND_EVALUATE_TYPES_TYPES_H_
#define CLEAVE_FRONTEND_EVALUATE_TYPES_TYPES_H_

#include <optional>
#include <string>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/tensor/types/types.h"

namespace cleave::frontend {

// `f32[batch, 2 * width]` with the names of `frame`. Nullopt after a mistake.
std::optional<ir::TensorType> EvaluateTensorType(const dsl::syntax::Type& type, Frame& frame, const Context& context);

// Reports a tensor with more elements than 64-bit integers and doubles count exactly.
bool CheckElementCount(const ir::TensorType& type, Span span, Reporter& reporter);

// Whether `value`, called `what` in messages, has the declared type; an int becomes a float if a float is declared.
// `assigned`: the expression that gives the value, where it is not the one behind the declaration.
bool CheckType(const dsl::syntax::Type& type, Value& value, Span place, const std::string& what, Frame& frame,
               const Context& context, std::optional<Span> assigned = std::nullopt);

// The record that a type names in the text of `frame`; null for any other type.
const Function* RecordNamed(const dsl::syntax::Type& type, const Frame& frame, const Context& context);

// Whether `value` is one of that type, on all ranks. REQUIRES: IsScalarName(name).
bool HasScalarType(const std::string& name, const Value& value);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TYPES_TYPES_H_
