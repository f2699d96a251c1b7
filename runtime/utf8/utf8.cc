#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// How many bytes a character has that begins with this one; 0 where none does.
size_t CharacterBytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

// The lowest code point that takes this many bytes.
uint32_t LowestPoint(size_t bytes) {
  constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  return kLowest[bytes];
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::optional<size_t> FindInvalidUtf8(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const size_t bytes = CharacterBytes(static_cast<unsigned char>(text[at]));
    if (bytes == 0 || text.size() - at < bytes) return begin;
    for (size_t i = 1; i < bytes; ++i) {
      if (!IsContinuation(text[at + i])) return begin;
    }
    const uint32_t point = ReadUtf8(text, at);
    const bool is_surrogate = point >= 0xD800 && point < 0xE000;
    if (point < LowestPoint(bytes) || point > 0x10FFFF || is_surrogate) return begin;
  }
  return std::nullopt;
}

uint32_t ReadUtf8(const std::string& text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const size_t bytes = CharacterBytes(first);
  uint32_t point = first & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  return point;
}

void AppendUtf8(uint32_t point, std::string& text) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
}

}  // namespace cleave::runtime
