#include "runtime/kernels/initialize.h"

#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"

namespace cleave::runtime {
namespace {

template <typename Fill>
void FillReals(const Region& part, Reals values, Fill fill) {
  if (values.type() == RealType::kF32) return fill(part, values.As<float>());
  std::vector<float> drawn(static_cast<size_t>(ElementCount(part.size)));
  fill(part, drawn.data());
  for (size_t i = 0; i < drawn.size(); ++i) values.Set(static_cast<int64_t>(i), drawn[i]);
}

// Calls fill(part, its values) in several threads, for parts of the piece along its first dimension.
template <typename Fill>
void FillInParts(const Region& piece, Reals values, Fill fill) {
  const int64_t count = ElementCount(piece.size);
  if (count < kParallelElements) return FillReals(piece, values, fill);
  const int64_t rows = piece.size[0], row = count / rows;
  const int64_t rows_of_part = (kParallelElements + row - 1) / row;
#pragma omp parallel for
  for (int64_t begin = 0; begin < rows; begin += rows_of_part) {
    Region part = piece;
    part.begin[0] += begin;
    part.size[0] = std::min(rows_of_part, rows - begin);
    FillReals(part, values + begin * row, fill);
  }
}

}  // namespace

void InitializeUniform(const Stream& stream, const Region& piece, float low, float high, Reals values) {
  FillInParts(piece, values, [&](const Region& part, float* own) { FillUniform(stream, part, low, high, own); });
}

void InitializeNormal(const Stream& stream, const Region& piece, float mean, float deviation, Reals values) {
  FillInParts(piece, values, [&](const Region& part, float* own) { FillNormal(stream, part, mean, deviation, own); });
}

}  // namespace cleave::runtime
