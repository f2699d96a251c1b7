// The value of an expression: literals, names, operators, tuples. Calls are in calls.h.
#ifndef CLEAVE_FRONTEND_EVALUATE_EXPRESSIONS_H_
#define CLEAVE_FRONTEND_EVALUATE_EXPRESSIONS_H_

#include <vector>

#include "frontend/evaluate/pieces.h"

namespace cleave::frontend {

Value EvaluateExpression(const dsl::syntax::Expression& expression, Frame& frame, Pieces& pieces);

// The same for an expression with attributes: their demands become pins on the ops of the outermost operation, and a
// region opens and closes around its call.
Value EvaluateAttributed(const dsl::syntax::Expression& operand, const std::vector<dsl::syntax::Attribute>& attributes,
                         Frame& frame, Pieces& pieces);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_EXPRESSIONS_H_
