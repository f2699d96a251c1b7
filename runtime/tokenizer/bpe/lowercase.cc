#include "runtime/tokenizer/bpe/lowercase.h"

#include <algorithm>
#include <iterator>

#include "runtime/tokenizer/bpe/lowercase_table.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// The only capital letter whose small one is two characters: an i, and a dot above it.
constexpr uint32_t kDottedI = 0x130;
constexpr uint32_t kDotAbove = 0x307;

uint32_t LowercaseOf(uint32_t point) {
  const auto* const run = std::lower_bound(std::begin(kLowercaseRuns), std::end(kLowercaseRuns), point,
                                           [](const LowercaseRun& each, uint32_t value) { return each.last < value; });
  if (run == std::end(kLowercaseRuns) || point < run->first || (point - run->first) % run->step != 0) return point;
  return static_cast<uint32_t>(static_cast<int64_t>(point) + run->behind);
}

}  // namespace

std::string LowercaseText(const std::string& text) {
  std::string lowercase;
  for (size_t at = 0; at < text.size();) {
    const uint32_t point = ReadUtf8(text, at);
    AppendUtf8(point == kDottedI ? 'i' : LowercaseOf(point), lowercase);
    if (point == kDottedI) AppendUtf8(kDotAbove, lowercase);
  }
  return lowercase;
}

}  // namespace cleave::runtime
