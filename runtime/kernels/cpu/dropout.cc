#include "runtime/kernels/dropout.h"

#include <algorithm>

#include "runtime/kernels/cpu/parallel.h"

namespace cleave::runtime {
namespace {

// The index in the whole tensor of the first element of row `row` of the piece.
int64_t RowBegin(const Region& piece, int64_t row) {
  int64_t global = 0;
  int64_t stride = 1;
  for (size_t d = piece.shape.size(); d-- > 0;) {
    const bool last = d + 1 == piece.shape.size();
    const int64_t position = last ? 0 : row % piece.size[d];
    if (!last) row /= piece.size[d];
    global += (piece.begin[d] + position) * stride;
    stride *= piece.shape[d];
  }
  return global;
}

}  // namespace

void Dropout(const Stream& stream, const Region& piece, float rate, const float* x, float* y) {
  const int64_t elements = ElementCount(piece.size);
  if (elements == 0) return;
  if (stream.step.Get() == 0) {
    std::copy_n(x, elements, y);
    return;
  }
  const int64_t columns = piece.size.empty() ? 1 : piece.size.back();
  const StreamWords words(stream);
  const float scale = 1.0f / (1.0f - rate);
#pragma omp parallel for if (elements >= kParallelElements)
  for (int64_t local = 0; local < elements; local += columns) {
    const int64_t begin = RowBegin(piece, local / columns);
    // One block of four words serves four neighbours.
    for (int64_t block = begin / 4; block * 4 < begin + columns; ++block) {
      const PhiloxBlock draws = words.Block(static_cast<uint64_t>(block));
      const int64_t first = std::max(begin, block * 4);
      const int64_t end = std::min(begin + columns, block * 4 + 4);
      for (int64_t global = first; global < end; ++global) {
        const int64_t i = local + global - begin;
        y[i] = UnitFloat(draws[static_cast<size_t>(global % 4)]) >= rate ? x[i] * scale : 0.0f;
      }
    }
  }
}

}  // namespace cleave::runtime
