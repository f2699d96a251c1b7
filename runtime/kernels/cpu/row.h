// Reductions of one row, shared by the functions of rows and the losses.
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_

#include <cstdint>
#include <limits>

#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {

inline float RowMax(const float* x, int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

inline float RowSum(const float* x, int64_t n) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// The sum of exp(x - largest).
inline float RowExpSum(const float* x, int64_t n, float largest) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += Exp(x[i] - largest);
  return sum;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_
