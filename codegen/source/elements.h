// Elementwise ops as C++ of one element, the same for every target.
//
// An op that is one operation is written where it is used, `a + b`. Any other becomes a function of the program with
// the op's name, `Gelu(x)`, whose text is made from the op's definition.
#ifndef CLEAVE_CODEGEN_SOURCE_ELEMENTS_H_
#define CLEAVE_CODEGEN_SOURCE_ELEMENTS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "codegen/cpp/cpp.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// The functions of one element that a program calls, each written once, after those that it calls itself.
//
//   CLEAVE_PORTABLE inline float Silu(float x) { return x * Sigmoid(x); }
class ElementFunctions {
 public:
  // Writes the function unless it is there, and returns what it is called: "Silu".
  std::string NameOf(const ir::ScalarFunction& function);

  const cpp::Code& definitions() const { return definitions_; }
  cpp::Code TakeDefinitions() { return std::move(definitions_); }

 private:
  cpp::Code definitions_;
  std::set<std::string> written_;
};

// Whether ops of this kind are emitted as the value of one element.
bool IsElementwise(ir::OpKind kind);

// The value of one element of the op, given those of its inputs. REQUIRES: IsElementwise(compute.kind).
cpp::Expr ElementValue(const ir::Program& program, const ir::Compute& compute, absl::Span<const cpp::Expr> arguments,
                       ElementFunctions& functions);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_ELEMENTS_H_
