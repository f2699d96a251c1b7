#include "runtime/measure/loops.h"

namespace cleave::runtime {
namespace {

// A multiple of 1/128 in [-1, 1), which also a BFloat16 holds.
float Mixed(int64_t i) { return static_cast<float>((i * 37 + i / 251) % 256 - 128) / 128.0f; }

}  // namespace

void Negate(int64_t count, const float* source, float* target) {
#pragma omp parallel for simd if (parallel : count >= 16384)
  for (int64_t i = 0; i < count; ++i) target[i] = -source[i];
}

void FillMixed(int64_t count, float* target) {
#pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) target[i] = Mixed(i);
}

void FillMixed(int64_t count, BFloat16* target) {
#pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) target[i] = BFloat16(Mixed(i));
}

}  // namespace cleave::runtime
