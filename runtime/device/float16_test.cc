#include "runtime/device/float16.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace cleave::runtime {
namespace {

// The processor converts it, too.
__attribute__((target("f16c"))) float InProcessor(Float16 x) { return _cvtsh_ss(x.bits); }
__attribute__((target("f16c"))) float RoundedInProcessor(float x) {
  return _cvtsh_ss(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
}

TEST(Float16, EveryNumberIsExact) {
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
    Float16 stored;
    stored.bits = static_cast<uint16_t>(bits);
    const float x = stored;
    const float expected = InProcessor(stored);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      ASSERT_TRUE(std::isnan(float{Float16(x)})) << bits;
      continue;
    }
    ASSERT_EQ(x, expected) << bits;
    ASSERT_EQ(std::signbit(x), std::signbit(expected)) << bits;
    ASSERT_EQ(Float16(x).bits, stored.bits);
  }
}

// Between all neighbours: ties, and floats next to them.
TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (uint16_t bits = 0; bits < 0x7C00; ++bits) {
    Float16 low, high;
    low.bits = bits;
    high.bits = static_cast<uint16_t>(bits + 1);
    const float next = high.bits == 0x7C00 ? 65536.0f : float{high};
    const float middle = (float{low} + next) / 2;
    for (const float x : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e9f)}) {
      const float expected = RoundedInProcessor(x);
      ASSERT_EQ(float{Float16(x)}, expected) << x;
      ASSERT_EQ(float{Float16(-x)}, -expected) << x;
    }
  }
  EXPECT_EQ(Float16(std::numeric_limits<float>::max()).bits, 0x7C00);
  EXPECT_EQ(Float16(-std::numeric_limits<float>::infinity()).bits, 0xFC00);
  EXPECT_EQ(Float16(std::numeric_limits<float>::denorm_min()).bits, 0);
}

}  // namespace
}  // namespace cleave::runtime
