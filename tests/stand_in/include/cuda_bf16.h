// A stand-in for CUDA's bf16 type, which tensor cores multiply.
#ifndef STAND_IN_CUDA_BF16_H_
#define STAND_IN_CUDA_BF16_H_

#include <cstdint>

struct __nv_bfloat16 {
  uint16_t bits;
};

#endif  // STAND_IN_CUDA_BF16_H_
