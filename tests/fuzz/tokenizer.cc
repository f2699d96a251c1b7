// A tokenizer.json, and behind the first zero byte a text: the file is refused, or the text becomes tokens, and every
// token has bytes or a reason why not.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "runtime/tokenizer/bpe/tokenizer_json.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::runtime;
  static auto& input = *new cleave::tests::fuzz::InputFile;
  const uint8_t* const zero = std::find(data, data + size, uint8_t{0});
  input.Write(data, static_cast<size_t>(zero - data));
  const auto tokenizer = OpenTokenizerJson(input.path());
  if (!tokenizer.ok()) {
    if (tokenizer.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text = zero == data + size ? "To be, caf\xC3\xA9 12\n" : std::string(zero + 1, data + size);
  const auto tokens = tokenizer.value()->Encode(text);
  if (tokens.ok()) {
    for (const int32_t token : tokens.value()) {
      if (token < 0 || token >= tokenizer.value()->size()) std::abort();
    }
    if (!Decode(*tokenizer.value(), tokens.value()).ok()) std::abort();
  }
  for (int32_t token = -1; token <= std::min<int64_t>(1000, tokenizer.value()->size()); ++token) {
    const auto bytes = tokenizer.value()->Bytes(token, token % 2 == 0);
    if (!bytes.ok() && bytes.error().message.empty()) std::abort();
  }
  return 0;
}
