// The text form of a syntax tree: what `--emit ast` prints.
//
//   model MnistMlp
//     parameter batch: int = 256
//     input image: (type f32 batch 784)
//     let h1 = (call relu (call dense image 512))
//
// One line per item, parameter, statement, setting and pin, bodies indented by two spaces, expressions as
// S-expressions. Everything but spans and comments is shown, so two trees print alike exactly when they are equal up to
// those.
#ifndef CLEAVE_DSL_SYNTAX_PRINT_H_
#define CLEAVE_DSL_SYNTAX_PRINT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl::syntax {

// The whole file, one item after the other; ends with a newline unless the file has no items.
std::string PrintTree(const File& file);

// One expression on one line, without a newline: `(+ a (call f b n: 2))`.
std::string PrintTree(const Expression& expression);

// One type on one line: `int`, `(type f32 ..n k)`.
std::string PrintTree(const Type& type);

// `+`, `==`, …: the operator as it is written.
absl::string_view OperatorText(BinaryOperator op);

// The string literal whose value is `value`, with quotes and escapes: `"a\"b"`.
std::string QuoteString(absl::string_view value);

}  // namespace cleave::dsl::syntax

#endif  // CLEAVE_DSL_SYNTAX_PRINT_H_
