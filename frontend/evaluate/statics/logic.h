// `&&`, `||` and `!` on static bools. One that differs between ranks is computed rank by rank, and one that the step
// decides becomes a formula.
//
//   Logic(`deep && step > 10`, Value{true}, (step > 10), graph, reporter) == (step > 10)
//
// A mistake is reported and gives Poison. REQUIRES of all functions: no value is Poison.
#ifndef CLEAVE_FRONTEND_EVALUATE_STATICS_LOGIC_H_
#define CLEAVE_FRONTEND_EVALUATE_STATICS_LOGIC_H_

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

bool IsLogic(dsl::syntax::BinaryOperator op);

// Whether an operand decides the value by itself, whatever the other is: `false && …`, `true || …`.
bool Decides(dsl::syntax::BinaryOperator op, const Value& operand);

// `left && right`, `left || right`. REQUIRES: IsLogic(binary.op), and neither is a tensor.
Value Logic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const ir::Graph& graph,
            Reporter& reporter);

// `!value` of what is no tensor; `span`: the whole expression.
Value NegateBool(const Value& value, Span span, const ir::Graph& graph, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATICS_LOGIC_H_
