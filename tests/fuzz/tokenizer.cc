// A tokenizer.json, and behind the first zero byte a text: the file is refused, or the text becomes tokens, also where
// half of it is no mark, its places are in order among them, and every token has bytes or a reason why not.
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
  const auto tokenizer = OpenTextTokenizer(input.path());
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
  size_t half = text.size() / 2;
  while (half > 0 && half < text.size() && (static_cast<unsigned char>(text[half]) & 0xC0) == 0x80) --half;
  const auto memory = tokenizer.value()->NewMemory();
  const auto encoding = tokenizer.value()->EncodeText(text, {{0, half}}, {0, half, text.size()}, *memory);
  if (encoding.ok()) {
    size_t before = 0;
    for (const auto& [ended, begun] : encoding.value().cuts) {
      if (ended < before || begun < ended || begun > encoding.value().tokens.size()) std::abort();
      before = ended;
    }
    if (encoding.value().cuts.size() != 3) std::abort();
  } else if (encoding.error().message.empty()) {
    std::abort();
  }
  for (int32_t token = -1; token <= std::min<int64_t>(1000, tokenizer.value()->size()); ++token) {
    const auto bytes = tokenizer.value()->Bytes(token, token % 2 == 0);
    if (!bytes.ok() && bytes.error().message.empty()) std::abort();
  }
  return 0;
}
