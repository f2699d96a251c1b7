// Private to tests/stand_in: rounds numbers to fewer digits than a float has, as libraries do.
#ifndef STAND_IN_LOW_PRECISION_H_
#define STAND_IN_LOW_PRECISION_H_

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace stand_in {

inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float FromBFloat16(uint16_t bits) { return FloatOf(static_cast<uint32_t>(bits) << 16); }

// Rounds to the nearest, ties to even.
inline uint16_t ToBFloat16(float value) {
  const uint32_t bits = BitsOf(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

// The processor converts f16.
__attribute__((target("f16c"))) inline float FromFloat16(uint16_t bits) { return _cvtsh_ss(bits); }
__attribute__((target("f16c"))) inline uint16_t ToFloat16(float value) {
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}

// By the formula of the OCP specification: a sign, `exponent_bits` and the rest of fraction.
inline float FromFloat8(uint8_t bits, int exponent_bits) {
  const int fraction_bits = 7 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
  if (exponent_bits == 4 && (bits & 0x7F) == 0x7F) return NAN;
  if (exponent_bits == 5 && exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  return sign * std::ldexp(static_cast<float>(whole), (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
}

// Rounds to 10 bits behind the point, ties away from zero.
inline float RoundToTf32(float value) {
  if (!std::isfinite(value)) return value;
  return FloatOf((BitsOf(value) + 0x1000u) & ~0x1FFFu);
}

}  // namespace stand_in

#endif  // STAND_IN_LOW_PRECISION_H_
