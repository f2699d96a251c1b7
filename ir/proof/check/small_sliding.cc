#include "ir/proof/check/small_sliding.h"

#include <algorithm>
#include <array>

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
          Sign(sliding.padding - sliding.kernel),
          Sign(2 * sliding.padding - (span - 1)),
          Sign(span - 2 * sliding.padding - sliding.stride)};
}

}  // namespace

Sliding SmallSliding(const Sliding& original, int64_t least_span) {
  if (std::max({original.kernel, original.stride, original.padding, original.dilation}) <= kSmall) return original;
  const std::array<int, 8> relations = RelationsOf(original);
  // Every relation can be had with a span that is just above the least one, a stride and a padding not far above it.
  for (int64_t span = least_span; span <= std::min(least_span + kSmall, original.span()); ++span) {
    for (int64_t dilation = 1; dilation <= std::min<int64_t>(original.dilation, 3); ++dilation) {
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

}  // namespace cleave::ir
