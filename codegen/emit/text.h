// Pieces of C++ text: literals, comments, and source lines in the layout of clang-format (Google style, 120 columns).
#ifndef CLEAVE_CODEGEN_EMIT_TEXT_H_
#define CLEAVE_CODEGEN_EMIT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::codegen {

// A string literal with quotes. Everything outside of printable ASCII is written in octal, so any name is safe.
std::string StringLiteral(absl::string_view text);

// `text` on one line of printable ASCII, for a `//` comment. Other characters become '?'. A final backslash, which
// would continue the comment on the next line, is followed by a full stop.
std::string CommentText(absl::string_view text);

// "0.05f", "3.0f", "INFINITY": a float literal that reads back as the nearest float.
std::string FloatLiteral(double value);

// Writes source text line by line.
//
//   SourceWriter writer;
//   writer.Open("void Forward() override {");
//   writer.Call("MatMul(", {"{.m = 64, .n = 512}", "image", "h1"}, ");");
//   writer.Close("}");
class SourceWriter {
 public:
  static constexpr int kColumns = 120;

  explicit SourceWriter(int indent = 0) : indent_(indent) {}

  void Line(absl::string_view line);        // Indented; "" gives an empty line.
  void Unindented(absl::string_view line);  // For preprocessor lines and access specifiers.
  void Comment(absl::string_view text);     // "// text", broken between words where it is too long.
  void Open(absl::string_view line);        // The lines that follow are indented by two more.
  void Close(absl::string_view line);

  // `head`, then the arguments separated by commas, then `tail`; arguments that do not fit go to the next line,
  // aligned.
  void Call(absl::string_view head, const std::vector<std::string>& arguments, absl::string_view tail);

  // The head of a function's definition: parameters that do not fit go to the next line, aligned.
  void Function(absl::string_view head, const std::vector<std::string>& parameters, absl::string_view tail);

  // "target = value;", broken after the symbol where it is too long.
  void Assign(absl::string_view target, absl::string_view value, absl::string_view symbol = "=");

  // Lines with aligned comments behind them: clang-format puts the comments of neighbouring lines into one column.
  // Comments that would not fit are shortened.
  struct Commented {
    std::string code;
    std::string comment;  // Without slashes; may be empty.
  };
  void Table(const std::vector<Commented>& rows);

  // Inserts text that another writer has made.
  void Append(const SourceWriter& other) { text_ += other.text_; }

  // An empty line, unless the text so far ends with one or with an opened block.
  void Gap();

  int indent() const { return indent_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int indent_ = 0;
};

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_EMIT_TEXT_H_
