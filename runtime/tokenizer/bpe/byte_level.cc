#include "runtime/tokenizer/bpe/byte_level.h"

#include <array>
#include <cstdint>

#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr uint32_t kFirstOther = 0x100;
constexpr uint32_t kOthers = 68;

bool StandsForItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteAlphabet {
  std::array<uint32_t, 256> character_of = {};
  std::array<uint8_t, kOthers> other_bytes = {};  // Of the characters from kFirstOther on.
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet kAlphabet = [] {
    ByteAlphabet alphabet;
    uint32_t others = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (!StandsForItself(byte)) alphabet.other_bytes[others] = static_cast<uint8_t>(byte);
      alphabet.character_of[byte] = StandsForItself(byte) ? byte : kFirstOther + others++;
    }
    return alphabet;
  }();
  return kAlphabet;
}

}  // namespace

std::string CharactersOfBytes(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) AppendUtf8(Alphabet().character_of[static_cast<unsigned char>(byte)], text);
  return text;
}

std::string BytesOfCharacters(const std::string& text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const uint32_t character = ReadUtf8(text, at);
    if (character < kFirstOther && StandsForItself(character)) {
      bytes += static_cast<char>(character);
    } else if (character >= kFirstOther && character < kFirstOther + kOthers) {
      bytes += static_cast<char>(Alphabet().other_bytes[character - kFirstOther]);
    } else {
      return text;
    }
  }
  return bytes;
}

}  // namespace cleave::runtime
