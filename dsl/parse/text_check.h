// Whether a text can be handed to the lexer at all: its size, NUL bytes, its encoding, and characters that hide others.
#ifndef CLEAVE_DSL_PARSE_TEXT_CHECK_H_
#define CLEAVE_DSL_PARSE_TEXT_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::dsl {

// The offset of the first byte that does not belong to well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
// nothing past U+10FFFF).
std::optional<size_t> FindInvalidUtf8(absl::string_view text);

// The first bytes that a source text must not have: a NUL, a byte that is not UTF-8, or a character that changes the
// direction of text; what a label says of them, and the diagnostic without that label.
struct BadText {
  size_t offset = 0;
  size_t size = 1;
  std::string label;
  Diagnostic diagnostic;
};
std::optional<BadText> FindBadText(absl::string_view text);

// `text` with as many question marks in place of all such bytes.
std::string WithoutBadText(std::string text);

// The diagnostic for a text with more than kMaxSourceBytes.
Diagnostic TooLarge(std::string message);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_TEXT_CHECK_H_
