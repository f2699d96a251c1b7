// Real numbers of 8 bits (OCP 8-bit Floating Point Specification 1.0, 2023): a sign, then for E4M3 4 bits of exponent
// and 3 of fraction, for E5M2 5 and 2. Numbers are stored in them and computed with in float.
//
//   Float8E4M3 stored = Float8E4M3(0.3f);  // Rounded to the nearest, ties to even; beyond 448 it is 448.
//   float x = stored;                      // Exact: 0.3125.
//
// E4M3 reaches from 2^-9 to 448 and has no infinity, E5M2 from 2^-16 to 57344. What is stored is never infinite: it
// saturates, as the instructions of GPUs do that round to these types. A NaN stays one.
#ifndef CLEAVE_RUNTIME_DEVICE_FLOAT8_H_
#define CLEAVE_RUNTIME_DEVICE_FLOAT8_H_

#include <cstdint>
#include <cstring>

#include "runtime/device/portable.h"

namespace cleave::runtime {

// Without branches, so that compilers make vectors of loops over them.
template <int kExponentBits>
struct Float8 {
  static constexpr int kFractionBits = 7 - kExponentBits;
  static constexpr uint32_t kBias = (1u << (kExponentBits - 1)) - 1;
  // The largest number of E5M2 is the last before infinity; E4M3 has numbers where others have infinity and NaNs, but
  // for its last code.
  static constexpr uint32_t kLargest = kExponentBits == 4 ? 0x7Eu : 0x7Bu;

  uint8_t bits = 0;

  Float8() = default;
  Float8(const Float8&) = default;
  // A copy of the number, because GCC makes no vectors of a loop that copies a struct.
  CLEAVE_PORTABLE Float8& operator=(const Float8& other) {
    bits = other.bits;
    return *this;
  }

  CLEAVE_PORTABLE explicit Float8(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    if constexpr (kExponentBits == 4) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    }
    bits = static_cast<uint8_t>(pair);
#else
    const uint32_t word = WordOf(x);
    const uint32_t magnitude = word & 0x7FFFFFFFu;
    // The exponent moves from a bias of 127, and the lower bits of the fraction are rounded away; a carry goes into the
    // exponent.
    constexpr int kLost = 23 - kFractionBits;
    const uint32_t normal =
        (magnitude - ((127u - kBias) << 23) + ((1u << (kLost - 1)) - 1) + (magnitude >> kLost & 1u)) >> kLost;
    // Below the normal numbers all are multiples of the smallest one. So are floats whose last digit that is: the sum
    // rounds, and its bits count them.
    constexpr uint32_t kCounting = (127u + 24u - kBias - kFractionBits) << 23;
    const uint32_t small = WordOf(FloatOf(magnitude) + FloatOf(kCounting)) - kCounting;
    const uint32_t finite = magnitude < ((128u - kBias) << 23) ? small : normal;
    const uint32_t number = magnitude >= ((128u + kBias + 1) << 23) || finite > kLargest ? kLargest : finite;
    const uint32_t code = magnitude > 0x7F800000u ? 0x7Fu : number | (word >> 24 & 0x80u);
    bits = static_cast<uint8_t>(code);
#endif
  }

  CLEAVE_PORTABLE operator float() const {  // NOLINT: implicit on purpose, as BFloat16.
    // The product moves the exponent to its bias of 127; of numbers below the normal ones it makes normal ones.
    const uint32_t shifted = static_cast<uint32_t>(bits & 0x7Fu) << (23 - kFractionBits);
    const uint32_t finite = WordOf(FloatOf(shifted) * FloatOf((254u - kBias) << 23));
    const bool is_nan = (bits & 0x7Fu) > (kExponentBits == 4 ? 0x7Eu : 0x7Cu);
    const bool is_infinite = kExponentBits == 5 && (bits & 0x7Fu) == 0x7Cu;
    const uint32_t magnitude = is_nan ? 0x7FC00000u : is_infinite ? 0x7F800000u : finite;
    return FloatOf(magnitude | static_cast<uint32_t>(bits & 0x80u) << 24);
  }

 private:
  CLEAVE_PORTABLE static uint32_t WordOf(float x) {
    uint32_t word;
    std::memcpy(&word, &x, sizeof word);
    return word;
  }
  CLEAVE_PORTABLE static float FloatOf(uint32_t word) {
    float x;
    std::memcpy(&x, &word, sizeof x);
    return x;
  }
};

using Float8E4M3 = Float8<4>;
using Float8E5M2 = Float8<5>;
static_assert(sizeof(Float8E4M3) == 1 && sizeof(Float8E5M2) == 1, "as they lie in memory");

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_FLOAT8_H_
