#include "runtime/kernels/cuda/draws.cuh"
#include "runtime/kernels/initialize.h"
#include "runtime/random/draws.h"

namespace cleave::runtime {
namespace {

template <typename Draws>
struct Initial {
  Draws draws;

  __device__ float operator()(const PhiloxBlock& block, size_t lane, uint64_t, float) const {
    return draws(block, lane);
  }
};

}  // namespace

void InitializeUniform(const Stream& stream, const Region& piece, float low, float high, float* values) {
  Draw(stream, piece, Initial<UniformDraw>{UniformDraw(low, high)}, nullptr, values);
}

void InitializeNormal(const Stream& stream, const Region& piece, float mean, float deviation, float* values) {
  Draw(stream, piece, Initial<NormalDraw>{NormalDraw(mean, deviation)}, nullptr, values);
}

}  // namespace cleave::runtime
