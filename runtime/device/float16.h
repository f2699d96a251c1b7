// float16, IEEE 754's binary16: a sign, 5 bits of exponent and 10 of fraction. Numbers are stored in it and computed
// with in float.
//
//   Float16 stored = Float16(0.1f);        // Rounded to the nearest, ties to even; from 65520 on infinity.
//   float x = stored;                      // Exact.
#ifndef CLEAVE_RUNTIME_DEVICE_FLOAT16_H_
#define CLEAVE_RUNTIME_DEVICE_FLOAT16_H_

#include <cstdint>
#include <cstring>

#include "runtime/device/portable.h"

namespace cleave::runtime {

// Without branches, so that compilers make vectors of loops over them. GPUs have an instruction for each direction.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  Float16(const Float16&) = default;
  // A copy of the number, because GCC makes no vectors of a loop that copies a struct.
  CLEAVE_PORTABLE Float16& operator=(const Float16& other) {
    bits = other.bits;
    return *this;
  }

  CLEAVE_PORTABLE explicit Float16(float x) {
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    const uint32_t word = WordOf(x);
    const uint32_t magnitude = word & 0x7FFFFFFFu;
    // The exponent moves from a bias of 127 to one of 15, and 13 bits of fraction are rounded away; a carry goes into
    // the exponent, and from the largest number to infinity.
    const uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    // Below 2^-14 numbers are multiples of 2^-24. So are floats from 0.5 to 1: the sum rounds, and its bits count them.
    const uint32_t small = WordOf(FloatOf(magnitude) + 0.5f) - 0x3F000000u;
    const uint32_t large = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;  // A NaN stays a NaN.
    const uint32_t finite = magnitude < (113u << 23) ? small : normal;
    bits = static_cast<uint16_t>((magnitude >= (143u << 23) ? large : finite) | (word >> 16 & 0x8000u));
#endif
  }

  CLEAVE_PORTABLE operator float() const {  // NOLINT: implicit on purpose, as BFloat16.
#if defined(__CUDA_ARCH__)
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    // The product moves the exponent to its bias of 127; of numbers below 2^-14 it makes normal ones.
    const uint32_t shifted = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
    const uint32_t finite = WordOf(FloatOf(shifted) * 0x1p112f);
    const uint32_t magnitude = shifted >= 0x7C00u << 13 ? shifted | 0x7F800000u : finite;
    return FloatOf(magnitude | static_cast<uint32_t>(bits & 0x8000u) << 16);
#endif
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
static_assert(sizeof(Float16) == 2, "as it lies in memory");

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_FLOAT16_H_
