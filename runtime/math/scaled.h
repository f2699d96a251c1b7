// Products of matrices of 8 bits, each with its unit: the matrix is what is stored, times the unit. As for
// runtime/math/math.h, the implementation is linked.
//
//   // y[rows, 512] = (x_unit x_8[rows, 128]) (w_unit transpose(w_8[512, 128]))
//   ScaledMatMul({.m = rows, .n = 512, .k = 128, .transpose_b = true}, x_8, x_unit, w_8, w_unit, y);
//
// On a GPU that has no kernel for it, and on a CPU, both factors are widened to bf16, which is exact: a unit is a power
// of two.
#ifndef CLEAVE_RUNTIME_MATH_SCALED_H_
#define CLEAVE_RUNTIME_MATH_SCALED_H_

#include <cstdint>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float8.h"
#include "runtime/math/math.h"

namespace cleave::runtime {

// c = a b + bias. A and B are Float8E4M3 or Float8E5M2, but not both the latter; Out is float or BFloat16. Sums are
// f32. `unit_a`, `unit_b`: one number each, a power of two, where the tensors are. `bias`, if there is one: as of
// MatMul.
template <typename A, typename B, typename Out>
void ScaledMatMul(const MatMulShape& shape, const A* a, const float* unit_a, const B* b, const float* unit_b, Out* c,
                  const Out* bias = nullptr);

// c = a b where it is the first, else c += a b.
template <typename A, typename B>
void AccumulateScaledMatMul(bool first, const MatMulShape& shape, const A* a, const float* unit_a, const B* b,
                            const float* unit_b, float* c);

// before = a b + bias and y = gelu(before), as MatMulGelu, and like it on GPUs only.
template <typename A, typename B>
void ScaledMatMulGelu(const MatMulShape& shape, const A* a, const float* unit_a, const B* b, const float* unit_b,
                      const BFloat16* bias, BFloat16* before, BFloat16* y);

#define CLEAVE_SCALED_PRODUCTS(A, B)                                                                             \
  template void ScaledMatMul(const MatMulShape&, const A*, const float*, const B*, const float*, float*,         \
                             const float*);                                                                      \
  template void ScaledMatMul(const MatMulShape&, const A*, const float*, const B*, const float*, BFloat16*,      \
                             const BFloat16*);                                                                   \
  template void AccumulateScaledMatMul(bool, const MatMulShape&, const A*, const float*, const B*, const float*, \
                                       float*);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_SCALED_H_
