// Elementwise ops as C++ expressions of one element.
#ifndef CLEAVE_CODEGEN_SOURCE_EXPRESSIONS_H_
#define CLEAVE_CODEGEN_SOURCE_EXPRESSIONS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/program/program.h"

namespace cleave {

// How tightly the outermost operator of an expression binds.
enum class Binding { kConditional, kSum, kProduct, kUnary, kPrimary };

struct Expression {
  std::string text;
  Binding binding = Binding::kPrimary;
  std::string condition = {};  // Of a value that is 1 where this holds and 0 elsewhere.
};

// The expression in parentheses where it binds less than `binding`.
std::string Bound(const Expression& expression, Binding binding);

// Whether ops of this kind are emitted as expressions.
bool HasExpression(OpKind kind);

// The value of one element of the op, given those of its inputs. Every argument appears at most once per use in the
// op's formula; ops that need one twice call a function. REQUIRES: HasExpression(compute.kind).
Expression ElementExpression(const Program& program, const Compute& compute, absl::Span<const Expression> arguments);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_EXPRESSIONS_H_
