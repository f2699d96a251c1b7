// Products of matrices of 8 bits as products of bf16, which holds all that they stand for.
#include "runtime/math/scaled.h"

#include <cstddef>
#include <cstdint>

#include "runtime/device/workspace.h"

namespace cleave::runtime {
namespace {

template <typename T>
WorkspaceVector<BFloat16> Widened(const T* values, int64_t count, float unit) {
  WorkspaceVector<BFloat16> wide(static_cast<size_t>(count));
#pragma omp parallel for simd
  for (int64_t i = 0; i < count; ++i) wide[static_cast<size_t>(i)] = BFloat16(unit * static_cast<float>(values[i]));
  return wide;
}

}  // namespace

template <typename A, typename B, typename Out>
void ScaledMatMul(const MatMulShape& shape, const A* a, const float* unit_a, const B* b, const float* unit_b, Out* c,
                  const Out* bias) {
  const auto wide_a = Widened(a, shape.batch * shape.m * shape.k, *unit_a);
  const auto wide_b = Widened(b, shape.batch * shape.k * shape.n, *unit_b);
  MatMul(shape, wide_a.data(), wide_b.data(), c, bias);
}

template <typename A, typename B>
void AccumulateScaledMatMul(bool first, const MatMulShape& shape, const A* a, const float* unit_a, const B* b,
                            const float* unit_b, float* c) {
  const auto wide_a = Widened(a, shape.batch * shape.m * shape.k, *unit_a);
  const auto wide_b = Widened(b, shape.batch * shape.k * shape.n, *unit_b);
  AccumulateMatMul(first, shape, wide_a.data(), wide_b.data(), c);
}

CLEAVE_SCALED_PRODUCTS(Float8E4M3, Float8E4M3)
CLEAVE_SCALED_PRODUCTS(Float8E4M3, Float8E5M2)
CLEAVE_SCALED_PRODUCTS(Float8E5M2, Float8E4M3)

}  // namespace cleave::runtime
