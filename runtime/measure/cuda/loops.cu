#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/measure/loops.h"

namespace cleave::runtime {
namespace {

__global__ void NegateElements(int64_t count, const float* source, float* target) {
  for (int64_t i = 4 * FirstElement(); i < count; i += 4 * ElementStride()) {
    Vector<float, 4> elements = Load<4>(source + i);
#pragma unroll
    for (int v = 0; v < 4; ++v) elements[v] = -elements[v];
    Store(elements, target + i);
  }
}

// Multiples of 1/128 in [-1, 1), which also a BFloat16 holds.
template <typename T>
__global__ void FillElements(int64_t count, T* target) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    target[i] = T(static_cast<float>((i * 37 + i / 251) % 256 - 128) / 128.0f);
  }
}

}  // namespace

void Negate(int64_t count, const float* source, float* target) {
  Launch(NegateElements, ForElements(count / 4), count, source, target);
}

void FillMixed(int64_t count, float* target) { Launch(FillElements<float>, ForElements(count), count, target); }
void FillMixed(int64_t count, BFloat16* target) { Launch(FillElements<BFloat16>, ForElements(count), count, target); }

}  // namespace cleave::runtime
