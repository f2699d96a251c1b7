// A text that an editor holds open, and places in it as the protocol counts them.
//
//   EditedText text("let x = 1;\r\n");
//   text.Replace(begin, end, "y");
//   Parse(text.text());                       // With \n alone, as the compiler counts offsets.
//   text.PositionOf(4, Encoding::kUtf16);     // {.line = 0, .character = 4}
#ifndef CLEAVE_TOOLS_LSP_TEXT_H_
#define CLEAVE_TOOLS_LSP_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::tools {

// What a character of a position is: a byte of UTF-8, or a unit of UTF-16, as is the default of the protocol.
enum class Encoding { kUtf8, kUtf16 };

// Both from 0.
struct Position {
  int64_t line = 0;
  int64_t character = 0;

  bool operator==(const Position&) const = default;
};

class EditedText {
 public:
  // REQUIRES (also of Replace): UTF-8. A byte order mark at the beginning is no part of the text.
  explicit EditedText(std::string raw);

  // A position past the end of a line is its end, and one past the last line is the end of the text. One within a
  // character is its beginning.
  void Replace(Position begin, Position end, absl::string_view with, Encoding encoding);

  // Every end of a line is \n.
  const std::string& text() const { return text_; }

  // Of and to offsets in text(); those past its end are its end.
  Position PositionOf(int64_t offset, Encoding encoding) const;
  int32_t OffsetOf(Position position, Encoding encoding) const;

 private:
  void Normalize();

  std::string raw_;   // As the editor has it.
  std::string text_;  // Has the same lines.
  std::vector<size_t> raw_starts_, starts_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_TEXT_H_
