#include "runtime/kernels/cuda/draws.cuh"
#include "runtime/kernels/dropout.h"

namespace cleave::runtime {
namespace {

struct DropElement {
  float rate;
  float scale;

  __device__ float operator()(const PhiloxBlock& block, size_t lane, uint64_t step, float x) const {
    if (step == 0) return x;
    return UnitFloat(block[lane]) >= rate ? x * scale : 0.0f;
  }
};

}  // namespace

void Dropout(const Stream& stream, const Region& piece, float rate, const float* x, float* y) {
  Draw(stream, piece, DropElement{rate, 1.0f / (1.0f - rate)}, x, y);
}

}  // namespace cleave::runtime
