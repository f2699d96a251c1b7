// A cursor over the text forms of the IR: tokens, attributes and types, with line and column in every error.
//
//   TextReader reader("%4: f32[2] = relu(%3)");
//   CLEAVE_ASSIGN_OR_RETURN(int64_t id, reader.Id());
//   CLEAVE_RETURN_IF_ERROR(reader.Expect(":"));
//
// Spaces and newlines separate tokens and are skipped. Comments are not skipped, because they have a meaning in the
// text forms (Comment()).
#ifndef CLEAVE_IR_GRAPH_READER_H_
#define CLEAVE_IR_GRAPH_READER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

class TextReader {
 public:
  // `text` must outlive the reader.
  explicit TextReader(absl::string_view text) : text_(text) {}

  // Takes `token` if it comes next.
  bool Take(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  bool AtEnd();

  // A word of letters, digits, `_` and `.`.
  absl::StatusOr<std::string> Word();
  bool NextIsWord();
  // "matmul": the name of an op's kind.
  absl::StatusOr<OpKind> Kind();
  // "%12".
  absl::StatusOr<int64_t> Id();
  absl::StatusOr<int64_t> Integer();
  // "text" with \" \\ \n \t escapes.
  absl::StatusOr<std::string> String();
  // "(0, 2, 1)".
  absl::StatusOr<std::vector<int64_t>> Integers();
  absl::StatusOr<double> Number();
  // "[0.5, 1.0]".
  absl::StatusOr<std::vector<double>> Numbers();
  // "(%1, %2)".
  absl::StatusOr<std::vector<int64_t>> Ids();
  // "f32[256, 784]".
  absl::StatusOr<TensorType> Type();
  // "{transpose_b = true}", or nothing.
  absl::StatusOr<Attributes> ReadAttributes();
  // Skips "(…)" with balanced parentheses.
  absl::Status SkipParentheses();
  // The rest of the line after `// `, or an empty string where no comment comes next.
  std::string Comment();

  // InvalidArgument "line 3, column 7: expected …, found `x`".
  absl::Status Error(absl::string_view expected);

 private:
  void SkipSpace();
  absl::StatusOr<AttributeValue> ReadAttributeValue();

  absl::string_view text_;
  size_t position_ = 0;
};

// " {transpose_b = true}" with a leading space; empty without attributes.
std::string AttributesText(const Attributes& attributes);

// "text" in quotes, escaped.
std::string QuotedText(absl::string_view text);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_READER_H_
