#include "runtime/tokenizer/byte_numbers.h"

#include <algorithm>
#include <array>
#include <cinttypes>

namespace cleave::runtime {
namespace {

constexpr int64_t kAllBytes = 256;

}  // namespace

Result<ByteNumbers> ByteNumbers::Of(const std::vector<uint8_t>& text, int64_t limit, const std::string& path) {
  const int64_t room = limit > 0 ? std::min(limit, kAllBytes) : kAllBytes;
  const auto too_large = std::find_if(text.begin(), text.end(), [&](uint8_t byte) { return byte >= room; });
  ByteNumbers numbers;
  numbers.are_numbered_ = too_large != text.end();
  std::array<bool, kAllBytes> present = {};
  for (const uint8_t byte : text) present[byte] = true;
  for (int64_t byte = 0; byte < kAllBytes; ++byte) {
    if (numbers.are_numbered_ ? !present[static_cast<size_t>(byte)] : byte >= room) continue;
    numbers.tokens_[static_cast<size_t>(byte)] = static_cast<uint8_t>(numbers.size());
    numbers.bytes_.push_back(static_cast<uint8_t>(byte));
  }
  if (numbers.size() <= room) return numbers;
  return Error{ExitCode::kInput,
               Format("byte %d at offset %td of `%s` is out of range: the model's vocabulary has %" PRId64
                      " symbols, and the file %" PRId64 " distinct bytes, too many to number them",
                      *too_large, too_large - text.begin(), path.c_str(), limit, numbers.size())};
}

}  // namespace cleave::runtime
