// Functions of one element (ir/graph/scalar) as expressions of C++: of elements, in float, and of the training step, in
// double. Both write the same operators; they differ in literals and in the functions that they call.
#ifndef CLEAVE_CODEGEN_SOURCE_SCALAR_EXPR_H_
#define CLEAVE_CODEGEN_SOURCE_SCALAR_EXPR_H_

#include <functional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/cpp/cpp.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::codegen {

struct Arithmetic {
  cpp::Expr (*literal)(double number);
  // What it calls a primitive, "Exp"; empty for operators, for what has a name that both call, such as "std::log", and
  // for what this arithmetic lacks.
  absl::string_view (*function)(ir::Primitive primitive);
};

// The value of a node that is no leaf, of those of its operands. REQUIRES: it is no kCall.
cpp::Expr ScalarExpr(const ir::Scalar& node, absl::Span<const cpp::Expr> operands, const Arithmetic& arithmetic);

// Whether a value is not 0. One that is 1 where something holds and 0 elsewhere becomes what holds.
cpp::Expr ConditionOf(const cpp::Expr& value, const Arithmetic& arithmetic);

// The operand whose text is longest.
size_t LongestOf(absl::Span<const cpp::Expr> operands);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_SCALAR_EXPR_H_
