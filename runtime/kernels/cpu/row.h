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

// The sum of sum_of(begin, end) over blocks of elements: if a long row were one chain of additions in float, it would
// lose digits.
template <typename SumOf>
float SumOfBlocks(int64_t n, SumOf sum_of) {
  constexpr int64_t kBlock = 1024;
  double sum = 0.0;
  for (int64_t begin = 0; begin < n; begin += kBlock) sum += sum_of(begin, begin + kBlock < n ? begin + kBlock : n);
  return static_cast<float>(sum);
}

inline float RowSum(const float* x, int64_t n) {
  return SumOfBlocks(n, [=](int64_t begin, int64_t end) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += x[i];
    return sum;
  });
}

// The sum of exp(x - largest).
inline float RowExpSum(const float* x, int64_t n, float largest) {
  return SumOfBlocks(n, [=](int64_t begin, int64_t end) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += Exp(x[i] - largest);
    return sum;
  });
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_
