// The bytes of a text as tokens: as they are where the model's vocabulary has room for them, else numbered.
//
//   Result<ByteNumbers> numbers = ByteNumbers::Of(text, 65, path);
//   if (!numbers.ok()) return numbers.error();
//   std::optional<uint8_t> token = numbers.value().TokenOf('a');
#ifndef CLEAVE_RUNTIME_TOKENIZER_BYTE_NUMBERS_H_
#define CLEAVE_RUNTIME_TOKENIZER_BYTE_NUMBERS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

class ByteNumbers {
 public:
  // For a model with tokens below `limit`; 0 where any token will do. When a byte of the text is not below it, the
  // distinct bytes are numbered in byte order; an Error where they are too many. `path` names the text in errors.
  static Result<ByteNumbers> Of(const std::vector<uint8_t>& text, int64_t limit, const std::string& path);

  // Otherwise each byte is its own token, also one that the text does not have.
  bool are_numbered() const { return are_numbered_; }

  // Tokens are in [0, size()).
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

  // nullopt where the byte has none.
  std::optional<uint8_t> TokenOf(uint8_t byte) const { return tokens_[byte]; }

  // REQUIRES: 0 <= token < size().
  uint8_t ByteOf(int64_t token) const { return bytes_[static_cast<size_t>(token)]; }

 private:
  bool are_numbered_ = false;
  std::vector<uint8_t> bytes_;                           // Of each token, in byte order.
  std::array<std::optional<uint8_t>, 256> tokens_ = {};  // Of each byte.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BYTE_NUMBERS_H_
