// Whether a text can be handed to the lexer at all: its size, NUL bytes, and its encoding.
#ifndef CLEAVE_DSL_PARSE_TEXT_CHECK_H_
#define CLEAVE_DSL_PARSE_TEXT_CHECK_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::dsl {

// The offset of the first byte that does not belong to well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
// nothing past U+10FFFF).
std::optional<size_t> FindInvalidUtf8(absl::string_view text);

// The offset of the first byte that a source text must not have, a NUL or a byte that is not UTF-8, and the diagnostic
// for it without its label. `file_offset_shift` is added to the offset in the message: what was removed from the text
// since it was read.
struct BadByte {
  size_t offset = 0;
  Diagnostic diagnostic;
};
std::optional<BadByte> FindBadByte(absl::string_view text, size_t file_offset_shift);

// "the file has 17,000,000 bytes; …" when it has more than kMaxSourceBytes.
std::optional<Diagnostic> CheckSize(absl::string_view path, int64_t bytes);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_TEXT_CHECK_H_
