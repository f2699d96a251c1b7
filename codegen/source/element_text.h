// Elementwise ops as C++ of one element, the same for every target.
//
// An op that is one operation is written where it is used, `a + b`. Any other becomes a function of the program with
// the op's name, `Gelu(x)`, whose text is made from the op's definition.
#ifndef CLEAVE_CODEGEN_SOURCE_ELEMENT_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_ELEMENT_TEXT_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/emit/text.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// How tightly the outermost operator of a text binds.
enum class Binding { kConditional, kSum, kProduct, kUnary, kPrimary };

// The value of one element, as an expression of C++.
struct ElementText {
  std::string text;
  Binding binding = Binding::kPrimary;
  std::string condition = {};  // For a value that is 1 where this holds and 0 elsewhere.
};

// The text in parentheses where it binds less than `binding`.
std::string Bound(const ElementText& element, Binding binding);

// The functions of one element that a program calls, each written once, after those that it calls itself.
//
//   CLEAVE_PORTABLE inline float Silu(float x) { return x * Sigmoid(x); }
class ElementFunctions {
 public:
  // Writes the function unless it is there, and returns what it is called: "Silu".
  std::string NameOf(const ir::ScalarFunction& function);

  const SourceWriter& definitions() const { return writer_; }

 private:
  SourceWriter writer_;
  std::set<std::string> written_;
};

// Whether ops of this kind are emitted as the value of one element.
bool HasElementText(ir::OpKind kind);

// The value of one element of the op, given those of its inputs. REQUIRES: HasElementText(compute.kind).
ElementText ElementValue(const ir::Program& program, const ir::Compute& compute,
                         absl::Span<const ElementText> arguments, ElementFunctions& functions);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_ELEMENT_TEXT_H_
