#include "runtime/kernels/segments.h"

#include <algorithm>

#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/ranking.h"

namespace cleave::runtime {
namespace {

// Calls visit(slice number, place of its elements, place of those of its row or -1 for no row, how many) for all slices
// in their order. Threads share the elements of slices.
template <typename Visit>
void ForEachSlice(const int32_t* indices, const RowIndexing& indexing, Visit visit) {
  constexpr int64_t kElements = 32;
  const int64_t outer = indexing.batch * indexing.outer, count = indexing.count, inner = indexing.inner;
  const int64_t blocks = (inner + kElements - 1) / kElements;
#pragma omp parallel for collapse(2) if (outer * count * inner >= kParallelElements)
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t begin = block * kElements;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = indices[o / indexing.outer * count + i] - indexing.first_row;
        const int64_t of_row = row < 0 || row >= indexing.rows ? -1 : (o * indexing.rows + row) * inner + begin;
        visit(i, (o * count + i) * inner + begin, of_row, std::min(kElements, inner - begin));
      }
    }
  }
}

int64_t RowElements(const RowIndexing& indexing) {
  return indexing.batch * indexing.outer * indexing.rows * indexing.inner;
}

}  // namespace

void SegmentMax(const float* x, const int32_t* indices, const RowIndexing& indexing, float fill, float* y) {
  std::fill_n(y, RowElements(indexing), fill);
  ForEachSlice(indices, indexing, [=](int64_t, int64_t at, int64_t row, int64_t n) {
    if (row < 0) return;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const float old = y[row + j], value = x[at + j];
      y[row + j] = value > old || value != value ? value : old;
    }
  });
}

void SegmentFirst(const float* x, const float* y, const int32_t* indices, const RowIndexing& indexing,
                  int64_t first_slice, int32_t* first) {
  std::fill_n(first, RowElements(indexing), kNoIndex);
  ForEachSlice(indices, indexing, [=](int64_t i, int64_t at, int64_t row, int64_t n) {
    if (row < 0) return;
    const auto number = static_cast<int32_t>(first_slice + i);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const int32_t old = first[row + j];
      first[row + j] = RankAlike(x[at + j], y[row + j]) && number < old ? number : old;
    }
  });
}

void SegmentArgmax(const float* x, const int32_t* indices, const RowIndexing& indexing, float fill, int32_t* first) {
  WorkspaceVector<float> largest(static_cast<size_t>(RowElements(indexing)));
  SegmentMax(x, indices, indexing, fill, largest.data());
  SegmentFirst(x, largest.data(), indices, indexing, 0, first);
}

void SegmentMaxGradient(const float* dy, const int32_t* first, const int32_t* indices, const RowIndexing& indexing,
                        int64_t first_slice, float* dx) {
  ForEachSlice(indices, indexing, [=](int64_t i, int64_t at, int64_t row, int64_t n) {
    const auto number = static_cast<int32_t>(first_slice + i);
    if (row < 0) {
      std::fill_n(dx + at, n, 0.0f);
      return;
    }
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) dx[at + j] = first[row + j] == number ? dy[row + j] : 0.0f;
  });
}

}  // namespace cleave::runtime
