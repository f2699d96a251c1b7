#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

Result<std::string> Detokenizer::Next(int32_t token) {
  Result<std::string> bytes = tokenizer_.Bytes(token, is_first_);
  if (bytes.ok() && !tokenizer_.IsSpecial(token)) is_first_ = false;
  return bytes;
}

Result<std::string> Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
  Detokenizer detokenizer(tokenizer);
  std::string text;
  for (const int32_t token : tokens) {
    const Result<std::string> bytes = detokenizer.Next(token);
    if (!bytes.ok()) return bytes.error();
    text += bytes.value();
  }
  return text;
}

}  // namespace cleave::runtime
