#include "runtime/device/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace cleave::runtime {
namespace {

// What a code stands for, by the specification's formula.
template <typename T>
double Decoded(uint32_t code) {
  const bool is_e4m3 = std::is_same_v<T, Float8E4M3>;
  const int fraction_bits = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
  const int exponent = static_cast<int>(code >> fraction_bits & (is_e4m3 ? 15u : 31u));
  const int fraction = static_cast<int>(code & (is_e4m3 ? 7u : 3u));
  const double sign = (code & 0x80u) != 0 ? -1 : 1;
  if (is_e4m3 && exponent == 15 && fraction == 7) return std::numeric_limits<double>::quiet_NaN();
  if (!is_e4m3 && exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  const double one = 1 << fraction_bits;
  return exponent == 0 ? sign * std::ldexp(fraction / one, 1 - bias)
                       : sign * std::ldexp(1 + fraction / one, exponent - bias);
}

template <typename T>
class Float8Test : public testing::Test {};
using Types = testing::Types<Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(Float8Test, Types);

TYPED_TEST(Float8Test, EveryNumberIsExact) {
  for (uint32_t code = 0; code < 256; ++code) {
    TypeParam stored;
    stored.bits = static_cast<uint8_t>(code);
    const float x = stored;
    const double expected = Decoded<TypeParam>(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(x)) << code;
      EXPECT_EQ(TypeParam(x).bits, 0x7F) << code;
      continue;
    }
    EXPECT_EQ(x, expected) << code;
    EXPECT_EQ(std::signbit(x), (code & 0x80u) != 0) << code;
    if (std::isfinite(expected)) EXPECT_EQ(TypeParam(x).bits, code);
  }
}

// Between all neighbours: ties, and floats next to them.
TYPED_TEST(Float8Test, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t code = 0; code < TypeParam::kLargest; ++code) {
    const auto low = static_cast<float>(Decoded<TypeParam>(code));
    const auto high = static_cast<float>(Decoded<TypeParam>(code + 1));
    const float middle = (low + high) / 2;
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t bit = sign < 0 ? 0x80u : 0;
      EXPECT_EQ(TypeParam(sign * std::nextafter(middle, 0.0f)).bits, code | bit) << middle;
      EXPECT_EQ(TypeParam(sign * middle).bits, even | bit) << middle;
      EXPECT_EQ(TypeParam(sign * std::nextafter(middle, 1e9f)).bits, (code + 1) | bit) << middle;
    }
  }
}

TYPED_TEST(Float8Test, Saturates) {
  const auto largest = static_cast<float>(Decoded<TypeParam>(TypeParam::kLargest));
  EXPECT_EQ(largest, (std::is_same_v<TypeParam, Float8E4M3> ? 448 : 57344));
  for (const float x : {std::nextafter(largest, 1e9f), 1.04f * largest, 1.2f * largest, 2 * largest, 1e30f,
                        std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(float{TypeParam(x)}, largest) << x;
    EXPECT_EQ(float{TypeParam(-x)}, -largest) << x;
  }
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(TypeParam(-0.0f).bits, 0x80);
}

}  // namespace
}  // namespace cleave::runtime
