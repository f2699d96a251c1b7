// Records: made by calls, looked into, and copied with other fields.
#ifndef CLEAVE_FRONTEND_EVALUATE_RECORDS_H_
#define CLEAVE_FRONTEND_EVALUATE_RECORDS_H_

#include <vector>

#include "absl/types/span.h"
#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/pieces.h"
#include "frontend/functions/functions.h"
#include "frontend/scope/scope.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// The record that `maker` makes of `values`, which were given by `matched`, and of the defaults where that is null.
// Those may name other fields. Poison after a mistake. REQUIRES: maker.record != nullptr.
Value MakeRecord(const Function& maker, absl::Span<const dsl::syntax::Argument* const> matched,
                 const std::vector<Value>& values, Frame& frame, Pieces& pieces);

// `c.heads`
Value EvaluateField(const dsl::syntax::Field& field, Frame& frame, Pieces& pieces);

// `c with (heads = 4)`: the record that is made of what `c` was given, and of these fields instead. So what follows a
// default follows it again.
Value EvaluateWith(const dsl::syntax::With& with, Span span, Frame& frame, Pieces& pieces);

// The value of a name, or of a field of one, which may be within another; null for other expressions and after
// mistakes.
const Value* ValueAt(const dsl::syntax::Expression& expression, const Scope& scope);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RECORDS_H_
