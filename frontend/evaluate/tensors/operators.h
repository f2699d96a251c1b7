// `x + y`, `2 * x`: binary operators on tensors as ops.
#ifndef CLEAVE_FRONTEND_EVALUATE_TENSORS_OPERATORS_H_
#define CLEAVE_FRONTEND_EVALUATE_TENSORS_OPERATORS_H_

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// Arithmetic and comparisons. REQUIRES: one of `left` and `right` is a tensor, and neither is Poison. With a static
// number, a product or quotient becomes `scale`, and a sum takes a constant that is broadcast; a number that differs
// between ranks becomes a `rank_value`.
Value TensorArithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const Origin& origin,
                       OpWriter& ops, Reporter& reporter);

// `-x`.
Value TensorNegate(const Operand& x, const Origin& origin, OpWriter& ops);

// `left && right`, `left || right`: 1 or 0 for each element, with broadcasting; a tensor is true where it is not 0.
// REQUIRES: as above.
Value TensorLogic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const Origin& origin,
                  OpWriter& ops, Reporter& reporter);

// `!x`: 1 where x is 0, else 0.
Value TensorNot(const Operand& x, const Origin& origin, OpWriter& ops);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TENSORS_OPERATORS_H_
