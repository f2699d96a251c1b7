// A stand-in for CUDA's f16 type, which tensor cores multiply.
#ifndef STAND_IN_CUDA_FP16_H_
#define STAND_IN_CUDA_FP16_H_

#include <cstdint>

struct __half {
  uint16_t bits;
};

#endif  // STAND_IN_CUDA_FP16_H_
