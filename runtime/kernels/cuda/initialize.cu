#include <algorithm>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/workspace.h"
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

template <typename T>
__global__ void RoundTo(int64_t count, const float* x, T* y) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) y[i] = T(x[i]);
}

// Values of 16 bits are drawn as floats, some rows at a time.
template <typename Function>
void DrawReals(const Stream& stream, const Region& piece, const Function& function, Reals values) {
  if (values.type() == RealType::kF32) return Draw(stream, piece, function, nullptr, values.As<float>());
  constexpr int64_t kDrawn = int64_t{1} << 22;
  const int64_t rows = piece.size.empty() ? 1 : piece.size[0];
  const int64_t row = rows > 0 ? ElementCount(piece.size) / rows : 0;
  if (row == 0) return;
  const int64_t rows_of_part = std::max(int64_t{1}, kDrawn / row);
  for (int64_t begin = 0; begin < rows; begin += rows_of_part) {
    Region part = piece;
    if (!part.size.empty()) {
      part.begin[0] += begin;
      part.size[0] = std::min(rows_of_part, rows - begin);
    }
    const int64_t count = ElementCount(part.size);
    const int64_t bytes = count * SizeOf(RealType::kF32);
    float* const drawn = static_cast<float*>(TakeWorkspace(bytes));
    Draw(stream, part, function, nullptr, drawn);
    const Reals target = values + begin * row;
    if (target.type() == RealType::kBf16) {
      Launch(RoundTo<BFloat16>, ForElements(count), count, drawn, target.As<BFloat16>());
    } else {
      Launch(RoundTo<Float16>, ForElements(count), count, drawn, target.As<Float16>());
    }
    GiveWorkspace(drawn, bytes);
  }
}

}  // namespace

void InitializeUniform(const Stream& stream, const Region& piece, float low, float high, Reals values) {
  DrawReals(stream, piece, Initial<UniformDraw>{UniformDraw(low, high)}, values);
}

void InitializeNormal(const Stream& stream, const Region& piece, float mean, float deviation, Reals values) {
  DrawReals(stream, piece, Initial<NormalDraw>{NormalDraw(mean, deviation)}, values);
}

}  // namespace cleave::runtime
