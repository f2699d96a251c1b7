// Texts in UTF-8 (RFC 3629), checked and taken apart.
//
//   if (std::optional<size_t> at = FindInvalidUtf8(text)) return Wrong(*at);
//   for (size_t at = 0; at < text.size();) Use(ReadUtf8(text, at));
#ifndef CLEAVE_RUNTIME_UTF8_UTF8_H_
#define CLEAVE_RUNTIME_UTF8_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cleave::runtime {

// The place of the first byte at which no well-formed character begins; nullopt where the whole text is UTF-8.
std::optional<size_t> FindInvalidUtf8(const std::string& text);

// The character that begins at byte `at`, which moves behind it. REQUIRES: the text is UTF-8, and `at` is the place of
// a character.
uint32_t ReadUtf8(const std::string& text, size_t& at);

// REQUIRES: `point` is at most 0x10FFFF.
void AppendUtf8(uint32_t point, std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_UTF8_UTF8_H_
