#include "ir/proof/check/small_sliding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace cleave::ir {
namespace {

constexpr int64_t kSmall = 8;

int Sign(int64_t value) { return (value > 0) - (value < 0); }

std::array<int, 8> RelationsOf(const Sliding& sliding) {
  const int64_t span = sliding.span();
  return {Sign(sliding.kernel - 1),
          Sign(sliding.stride - 1),
          Sign(sliding.dilation - 1),
          Sign(sliding.padding),
          Sign(span - sliding.stride),
          Sign(sliding.padding - span),
          Sign(2 * sliding.padding - (span - 1)),
          Sign(span - 2 * sliding.padding - sliding.stride)};
}

Sliding SmallestSliding(const Sliding& original) {
  const std::array<int, 8> relations = RelationsOf(original);
  // Every relation can be had with a small span, and a stride and a padding not far above it.
  for (int64_t span = 1; span <= std::min(kSmall, original.span()); ++span) {
    for (int64_t dilation = 1; dilation <= std::min(original.dilation, kSmall); ++dilation) {
      if ((span - 1) % dilation != 0) continue;
      for (int64_t padding = 0; padding <= std::min(span + 2, original.padding); ++padding) {
        for (int64_t stride = 1; stride <= std::min(span + 2, original.stride); ++stride) {
          const Sliding sliding = {
              .kernel = (span - 1) / dilation + 1, .stride = stride, .padding = padding, .dilation = dilation};
          if (RelationsOf(sliding) == relations) return sliding;
        }
      }
    }
  }
  return original;
}

}  // namespace

Sliding SmallSliding(const Sliding& original, int attempt) {
  if (std::max({original.kernel, original.stride, original.padding, original.dilation}) <= kSmall) return original;
  if (attempt >= kSlidings) return original;
  if (attempt == 0) {
    const Sliding smallest = SmallestSliding(original);
    if (smallest != original) return smallest;
  }
  const std::array<int, 8> relations = RelationsOf(original);
  const int64_t largest = kSmall + attempt;
  std::minstd_rand random(static_cast<uint32_t>(attempt));
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(std::min(most, largest) - least + 1));
  };
  constexpr int kDraws = 3000;
  for (int i = 0; i < kDraws; ++i) {
    const Sliding sliding = {.kernel = draw(1, original.kernel),
                             .stride = draw(1, original.stride),
                             .padding = draw(0, original.padding),
                             .dilation = draw(1, original.dilation)};
    if (RelationsOf(sliding) == relations) return sliding;
  }
  return original;
}

}  // namespace cleave::ir
