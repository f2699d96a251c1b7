// The primitives of one element that the standard library lacks, or has in a form that keeps a loop from being
// vectorised: what the functions of generated programs are made of. A NaN stays a NaN.
//
// Products and sums may be contracted to fused multiply-adds, as nvcc does and -march=native: exact results stay exact,
// and others are rounded once less. They must not be reordered (-ffast-math).
#ifndef CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_
#define CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/device/portable.h"

namespace cleave::runtime {

// 2^n for n in [-126, 127].
CLEAVE_PORTABLE inline float PowerOfTwo(int32_t n) {
  const int32_t bits = (n + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// The least power of two that is at least x, of those from 2^-126 to 2^127; infinities and NaNs stay as they are.
CLEAVE_PORTABLE inline float PowerOfTwoFrom(float x) {
  if (!(x > 1.17549435e-38f)) return x == x && x - x == 0.0f ? 1.17549435e-38f : x;
  int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const int32_t exponent = (bits >> 23) - 127 + ((bits & 0x7FFFFF) != 0 ? 1 : 0);
  return x - x != 0.0f ? x : PowerOfTwo(exponent < 127 ? exponent : 127);
}

// e^x within two units in the last place. The standard library's function is not more exact, and a CPU loop that calls
// it is not vectorised. On a GPU this uses the hardware's power of two. x = n ln 2 + r with |r| <= ln 2 / 2 and n
// whole; e^r by the polynomial of Cephes' expf (Moshier, 1992).
CLEAVE_PORTABLE inline float Exp(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves no digits after the point.
  const float low = x < -104.0f ? -104.0f : x;
  const float at = low > 89.0f ? 89.0f : low;
  const float n = at * 1.44269504f + kRound - kRound;
  const float r = at - n * 0.693359375f + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  // The scaling is done in two halves, so that the largest and the denormal results are reached. A NaN stays a NaN,
  // because y is one.
  const int32_t whole = static_cast<int32_t>(x == x ? n : 0.0f);
  const int32_t half = whole >> 1;
  return y * PowerOfTwo(half) * PowerOfTwo(whole - half);
#endif
}

// The larger and the smaller of two values; a NaN where either is a NaN.
CLEAVE_PORTABLE inline float Maximum(float x, float y) { return x < y || y != y ? y : x; }
CLEAVE_PORTABLE inline float Minimum(float x, float y) { return y < x || y != y ? y : x; }
CLEAVE_PORTABLE inline int32_t Maximum(int32_t x, int32_t y) { return x < y ? y : x; }
CLEAVE_PORTABLE inline int32_t Minimum(int32_t x, int32_t y) { return y < x ? y : x; }

// Towards zero, to the nearest whole number of 32 bits; a NaN becomes 0. So a GPU converts by itself.
CLEAVE_PORTABLE inline int32_t ToInt32(float x) {
#ifdef __CUDA_ARCH__
  return __float2int_rz(x);
#else
  constexpr float kEnd = 2147483648.0f;
  const int32_t whole = static_cast<int32_t>(x >= -kEnd && x < kEnd ? x : 0.0f);
  return x >= kEnd ? std::numeric_limits<int32_t>::max() : x < -kEnd ? std::numeric_limits<int32_t>::min() : whole;
#endif
}

CLEAVE_PORTABLE inline int32_t ToInt32(int32_t x) { return x; }

// Of whole numbers, towards zero, and what is left; both are 0 where the divisor is. Computed in 64 bits, in which the
// smallest number has an opposite.
CLEAVE_PORTABLE inline int32_t Quotient(int32_t x, int32_t y) {
  return y == 0 ? 0 : static_cast<int32_t>(int64_t{x} / y);
}
CLEAVE_PORTABLE inline int32_t Remainder(int32_t x, int32_t y) {
  return y == 0 ? 0 : static_cast<int32_t>(int64_t{x} % y);
}

// Whether x comes before y when values are ranked from the largest to the smallest: a NaN comes first.
CLEAVE_PORTABLE inline bool RanksBefore(float x, float y) { return x > y || (x != x && y == y); }

// Whether the two have one place in that ranking: they are equal, or both NaN.
CLEAVE_PORTABLE inline bool RankAlike(float x, float y) { return x == y || (x != x && y != y); }

// x to the power of a whole number, by repeated squaring.
template <int kExponent>
CLEAVE_PORTABLE inline float Power(float x) {
  if constexpr (kExponent < 0) {
    return 1.0f / Power<-kExponent>(x);
  } else if constexpr (kExponent == 0) {
    return 1.0f;
  } else if constexpr (kExponent == 1) {
    return x;
  } else {
    const float root = Power<kExponent / 2>(x);
    return root * root * Power<kExponent % 2>(x);
  }
}

// log(1 + t) for t in [0, 1], as t times the polynomial that fits log(1 + t) / t best: relative error below 5e-9.
CLEAVE_PORTABLE inline float LogOnePlus(float t) {
  float y = -3.2438882426e-3f;
  y = y * t + 1.9850815081e-2f;
  y = y * t - 5.6958250869e-2f;
  y = y * t + 1.0603516493e-1f;
  y = y * t - 1.5305504628e-1f;
  y = y * t + 1.9675905933e-1f;
  y = y * t - 2.4954126410e-1f;
  y = y * t + 3.3329961602e-1f;
  y = y * t - 4.9999902386e-1f;
  y = y * t + 9.9999999528e-1f;
  return y * t;
}

// The error function: x p(x^2) / q(x^2), the ratio of degree 5 over 5 that fits erf(x) / x best on [0, 3.92], with
// relative error below 2e-8; beyond, the nearest float is 1.
CLEAVE_PORTABLE inline float Erf(float x) {
  const float at = Minimum(Maximum(x, -3.92f), 3.92f);
  const float z = at * at;
  float p = 2.0500475824e-6f;
  p = p * z + 2.8484357298e-4f;
  p = p * z + 3.7645789882e-3f;
  p = p * z + 5.2745455498e-2f;
  p = p * z + 1.9038450965e-1f;
  p = p * z + 1.1283791465f;
  float q = 3.8089258621e-5f;
  q = q * z + 1.1622545885e-3f;
  q = q * z + 1.4967145634e-2f;
  q = q * z + 1.1409970804e-1f;
  q = q * z + 5.0205662542e-1f;
  q = q * z + 1.0f;
  const float y = Minimum(Maximum(at * p / q, -1.0f), 1.0f);
  return x > 3.92f ? 1.0f : x < -3.92f ? -1.0f : y;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_
