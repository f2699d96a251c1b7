#include "runtime/kernels/initialize.h"

#include <algorithm>

#include "runtime/kernels/cpu/parallel.h"

namespace cleave::runtime {
namespace {

// Calls fill(part, its values) in several threads, for parts of the piece along its first dimension.
template <typename Fill>
void FillInParts(const Region& piece, float* values, Fill fill) {
  const int64_t count = ElementCount(piece.size);
  if (count < kParallelElements) return fill(piece, values);
  const int64_t rows = piece.size[0], row = count / rows;
  const int64_t rows_of_part = (kParallelElements + row - 1) / row;
#pragma omp parallel for
  for (int64_t begin = 0; begin < rows; begin += rows_of_part) {
    Region part = piece;
    part.begin[0] += begin;
    part.size[0] = std::min(rows_of_part, rows - begin);
    fill(part, values + begin * row);
  }
}

}  // namespace

void InitializeUniform(const Stream& stream, const Region& piece, float low, float high, float* values) {
  FillInParts(piece, values, [&](const Region& part, float* own) { FillUniform(stream, part, low, high, own); });
}

void InitializeNormal(const Stream& stream, const Region& piece, float mean, float deviation, float* values) {
  FillInParts(piece, values, [&](const Region& part, float* own) { FillNormal(stream, part, mean, deviation, own); });
}

}  // namespace cleave::runtime
