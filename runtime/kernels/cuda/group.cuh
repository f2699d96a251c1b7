// Reductions among the threads that work on one row: a warp, or a whole block. The order of combination is fixed, so
// that the same values give the same bits however the threads are scheduled.
//
//   const float sum = GroupReduce<256>(own, Sum());    // Of a block of 256 threads; every thread gets it.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_GROUP_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_GROUP_CUH_

#include <cfloat>
#include <cstdint>
#include <limits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Values that can be combined: each has an identity, and Combine. A NaN is kept.
struct Sum {
  static constexpr float kIdentity = 0.0f;
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  static constexpr float kIdentity = -std::numeric_limits<float>::infinity();
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
// The largest magnitude.
struct MaxAbs {
  static constexpr float kIdentity = 0.0f;
  __device__ float operator()(float a, float b) const { return Max()(fabsf(a), fabsf(b)); }
};
struct Min {
  static constexpr float kIdentity = std::numeric_limits<float>::infinity();
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

// The sum of exponentials of numbers, relative to the largest one: the sum itself is sum * e^largest. Milakov and
// Gimelshein: Online normalizer calculation for softmax (2018).
struct ExpSum {
  float largest;
  float sum;

  // The value for no numbers. It is not -infinity, because -infinity minus -infinity is not a number.
  static __device__ ExpSum None() { return {-FLT_MAX, 0.0f}; }

  __device__ void Add(float x) {
    const float distance = x - largest;
    const float ratio = Exp(-fabsf(distance));
    sum = distance > 0.0f ? sum * ratio + 1.0f : sum + ratio;
    largest = distance > 0.0f ? x : largest;
  }
};
struct AddExpSums {
  __device__ ExpSum operator()(const ExpSum& a, const ExpSum& b) const {
    const float largest = a.largest > b.largest ? a.largest : b.largest;
    return {largest, a.sum * Exp(a.largest - largest) + b.sum * Exp(b.largest - largest)};
  }
};

// Two sums that are made at once.
struct TwoSums {
  float first;
  float second;

  __device__ TwoSums operator+(const TwoSums& other) const { return {first + other.first, second + other.second}; }
};

// The first ranked number of a row and where it stands, the first of equal ones.
struct Largest {
  float value;
  int index;
};
struct FirstLargest {
  __device__ Largest operator()(const Largest& a, const Largest& b) const {
    const bool is_first = RankAlike(a.value, b.value) ? b.index < a.index : RanksBefore(b.value, a.value);
    return is_first ? b : a;
  }
};

// The value of the lane whose number differs in the bits `lanes`.
template <typename T>
__device__ inline T OfLane(T value, int lanes) {
  return __shfl_xor_sync(kAllLanes, value, lanes);
}
__device__ inline ExpSum OfLane(const ExpSum& value, int lanes) {
  return {OfLane(value.largest, lanes), OfLane(value.sum, lanes)};
}
__device__ inline TwoSums OfLane(const TwoSums& value, int lanes) {
  return {OfLane(value.first, lanes), OfLane(value.second, lanes)};
}
__device__ inline Largest OfLane(const Largest& value, int lanes) {
  return {OfLane(value.value, lanes), OfLane(value.index, lanes)};
}

// Combines the values of kThreads threads: a warp's, or those of a block of that many. REQUIRES: all of them call it.
template <int kThreads, typename T, typename Combine>
__device__ T GroupReduce(T value, Combine combine) {
  static_assert(kThreads % kWarp == 0, "whole warps");
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value = combine(value, OfLane(value, lanes));
  if constexpr (kThreads > kWarp) {
    __shared__ T of_warp[kThreads / kWarp];
    __syncthreads();  // All threads have read what was combined before.
    if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = of_warp[0];
#pragma unroll
    for (int warp = 1; warp < kThreads / kWarp; ++warp) value = combine(value, of_warp[warp]);
  }
  return value;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_GROUP_CUH_
