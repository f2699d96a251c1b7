// bfloat16: the upper half of a float. Numbers are stored in it and computed with in float.
//
//   BFloat16 stored = BFloat16(0.1f);      // Rounded to the nearest, ties to even.
//   float x = stored;                      // Exact.
#ifndef CLEAVE_RUNTIME_DEVICE_BFLOAT16_H_
#define CLEAVE_RUNTIME_DEVICE_BFLOAT16_H_

#include <cstdint>
#include <cstring>

#include "runtime/device/portable.h"

namespace cleave::runtime {

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  BFloat16(const BFloat16&) = default;
  // A copy of the number, because GCC makes no vectors of a loop that copies a struct.
  CLEAVE_PORTABLE BFloat16& operator=(const BFloat16& other) {
    bits = other.bits;
    return *this;
  }

  // A NaN stays a NaN: the rounding works on the bits, where a carry could make it infinity. GPUs from Ampere on have
  // an instruction for it.
  CLEAVE_PORTABLE explicit BFloat16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    uint32_t word;
    std::memcpy(&word, &x, sizeof word);
    const bool is_number = (word & 0x7FFFFFFFu) <= 0x7F800000u;
    const uint32_t rounded = word + 0x7FFFu + (word >> 16 & 1u);
    bits = static_cast<uint16_t>((is_number ? rounded : word | 0x00400000u) >> 16);
#endif
  }

  CLEAVE_PORTABLE operator float() const {  // NOLINT: implicit on purpose, a bf16 is read as a float.
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float x;
    std::memcpy(&x, &word, sizeof x);
    return x;
  }
};
static_assert(sizeof(BFloat16) == 2, "as it lies in memory");

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_BFLOAT16_H_
