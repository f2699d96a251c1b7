#include "dsl/parse/text_check.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"

namespace cleave::dsl {
namespace {

uint8_t ByteAt(absl::string_view text, size_t offset) { return static_cast<uint8_t>(text[offset]); }

// The length of the well-formed sequence that begins at `offset`, or 0 (Unicode 15, table 3-7).
size_t SequenceLength(absl::string_view text, size_t offset) {
  const uint8_t lead = ByteAt(text, offset);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() - offset < length) return 0;
  const uint8_t second_min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint8_t second_max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  const uint8_t second = ByteAt(text, offset + 1);
  if (second < second_min || second > second_max) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((ByteAt(text, offset + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::optional<size_t> FindInvalidUtf8(absl::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const size_t length = SequenceLength(text, offset);
    if (length == 0) return offset;
    offset += length;
  }
  return std::nullopt;
}

std::optional<BadByte> FindBadByte(absl::string_view text, size_t file_offset_shift) {
  const std::optional<size_t> invalid = FindInvalidUtf8(text);
  const size_t nul = text.find('\0');
  if (nul != absl::string_view::npos && (!invalid || nul < *invalid)) {
    return BadByte{
        .offset = nul,
        .diagnostic = Error(Code::kE0112, absl::StrCat("the file has a NUL byte at offset ", nul + file_offset_shift))
                          .Note("a model file is text; this one may be a binary file or UTF-16")
                          .Help("save the file as UTF-8")};
  }
  if (!invalid) return std::nullopt;
  return BadByte{
      .offset = *invalid,
      .diagnostic = Error(Code::kE0111, absl::StrFormat("the file is not valid UTF-8: byte 0x%02x at offset %d",
                                                        ByteAt(text, *invalid), *invalid + file_offset_shift))
                        .Help("save the file as UTF-8")};
}

std::optional<Diagnostic> CheckSize(absl::string_view path, int64_t bytes) {
  if (bytes <= kMaxSourceBytes) return std::nullopt;
  return Error(Code::kE0113,
               absl::StrCat("`", absl::Utf8SafeCHexEscape(path), "` has ", FormatCount(bytes),
                            " bytes; a model file has at most ", FormatCount(kMaxSourceBytes), " (16 MiB)"))
      .Help("write repeated parts as a function and a `for` loop");
}

}  // namespace cleave::dsl
