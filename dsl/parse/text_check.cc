#include "dsl/parse/text_check.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"

namespace cleave::dsl {
namespace {

constexpr size_t kDirectionControlBytes = 3;

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

std::optional<BadText> FindBadText(absl::string_view whole) {
  absl::string_view text = whole;
  const std::optional<size_t> invalid = FindInvalidUtf8(text);
  text = text.substr(0, invalid.value_or(text.size()));
  const size_t nul = std::min(text.find('\0'), text.size());
  text = text.substr(0, nul);
  if (const std::optional<size_t> control = FindDirectionControl(text)) {
    return BadText{
        .offset = *control,
        .size = kDirectionControlBytes,
        .label = "this character",
        .diagnostic = Error(Code::kE0103, absl::StrCat("the character ", DirectionControlName(text, *control),
                                                       " changes the direction of the text behind it"))
                          .Note("the file would not be what it looks like")
                          .Help("remove it")};
  }
  if (nul < invalid.value_or(whole.size())) {
    return BadText{.offset = nul,
                   .label = "this byte",
                   .diagnostic = Error(Code::kE0112, absl::StrCat("the file has a NUL byte at offset ", nul))
                                     .Note("a model file is text; this one may be a binary file or UTF-16")
                                     .Help("save the file as UTF-8")};
  }
  if (!invalid) return std::nullopt;
  return BadText{
      .offset = *invalid,
      .label = "this byte",
      .diagnostic = Error(Code::kE0111, absl::StrFormat("the file is not valid UTF-8: byte 0x%02x at offset %d",
                                                        ByteAt(whole, *invalid), *invalid))
                        .Help("save the file as UTF-8")};
}

std::string WithoutBadText(std::string text) {
  for (size_t offset = 0; offset < text.size();) {
    const size_t length = SequenceLength(text, offset);
    const bool is_bad = length == 0 || text[offset] == '\0' ||
                        FindDirectionControl(absl::string_view(text).substr(offset, length)).has_value();
    if (is_bad) text.replace(offset, std::max<size_t>(1, length), std::max<size_t>(1, length), '?');
    offset += std::max<size_t>(1, length);
  }
  return text;
}

Diagnostic TooLarge(std::string message) {
  return Error(Code::kE0113, std::move(message)).Help("write repeated parts as a function and a `for` loop");
}

}  // namespace cleave::dsl
