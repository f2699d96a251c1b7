// A thread for each element of the slices. Maxima of whole numbers do not depend on their order, so they are made by
// atomic operations; floats become whole numbers that are ordered as they are.
#include "runtime/device/cuda/cuda.h"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/ranking.h"
#include "runtime/kernels/segments.h"

namespace cleave::runtime {
namespace {

// The bits of a float as a number that is the larger the larger the float is, and its inverse. All NaNs are one, which
// is larger than all numbers.
__device__ inline int Ordered(float x) {
  const int bits = x != x ? 0x7fffffff : __float_as_int(x);
  return bits >= 0 ? bits : bits ^ 0x7fffffff;
}
__device__ inline float FromOrdered(int number) { return __int_as_float(number >= 0 ? number : number ^ 0x7fffffff); }

// What belongs to element `n` of the slices.
struct Numbered {
  int64_t slice;
  int64_t row;  // The element of its row; -1 where there is no such row.
};
__device__ inline Numbered NumberedAt(int64_t n, const int32_t* indices, const RowIndexing& indexing) {
  const int64_t place = n / indexing.inner;
  const int64_t i = place % indexing.count, o = place / indexing.count;
  const int64_t row = indices[o / indexing.outer * indexing.count + i] - indexing.first_row;
  if (row < 0 || row >= indexing.rows) return {i, -1};
  return {i, (o * indexing.rows + row) * indexing.inner + n % indexing.inner};
}

int64_t SliceElements(const RowIndexing& indexing) {
  return indexing.batch * indexing.outer * indexing.count * indexing.inner;
}
int64_t RowElements(const RowIndexing& indexing) {
  return indexing.batch * indexing.outer * indexing.rows * indexing.inner;
}

__global__ void FillOrdered(float value, int64_t count, int* y) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) y[i] = Ordered(value);
}
__global__ void MaxOfOrdered(const float* x, const int32_t* indices, RowIndexing indexing, int64_t count, int* y) {
  for (int64_t n = FirstElement(); n < count; n += ElementStride()) {
    const Numbered at = NumberedAt(n, indices, indexing);
    if (at.row >= 0) atomicMax(&y[at.row], Ordered(x[n]));
  }
}
__global__ void ToFloats(int64_t count, float* y) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) y[i] = FromOrdered(__float_as_int(y[i]));
}

__global__ void FillNumbers(int64_t count, int32_t* first) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) first[i] = kNoIndex;
}
__global__ void MinOfSlices(const float* x, const float* y, const int32_t* indices, RowIndexing indexing,
                            int64_t first_slice, int64_t count, int32_t* first) {
  for (int64_t n = FirstElement(); n < count; n += ElementStride()) {
    const Numbered at = NumberedAt(n, indices, indexing);
    if (at.row >= 0 && RankAlike(x[n], y[at.row]))
      atomicMin(&first[at.row], static_cast<int32_t>(first_slice + at.slice));
  }
}

__global__ void TakeFirst(const float* dy, const int32_t* first, const int32_t* indices, RowIndexing indexing,
                          int64_t first_slice, int64_t count, float* dx) {
  for (int64_t n = FirstElement(); n < count; n += ElementStride()) {
    const Numbered at = NumberedAt(n, indices, indexing);
    dx[n] = at.row >= 0 && first[at.row] == static_cast<int32_t>(first_slice + at.slice) ? dy[at.row] : 0.0f;
  }
}

}  // namespace

void SegmentMax(const float* x, const int32_t* indices, const RowIndexing& indexing, float fill, float* y) {
  const int64_t results = RowElements(indexing), elements = SliceElements(indexing);
  int* const numbers = reinterpret_cast<int*>(y);
  Launch(FillOrdered, ForElements(results), fill, results, numbers);
  Launch(MaxOfOrdered, ForElements(elements), x, indices, indexing, elements, numbers);
  Launch(ToFloats, ForElements(results), results, y);
}

void SegmentFirst(const float* x, const float* y, const int32_t* indices, const RowIndexing& indexing,
                  int64_t first_slice, int32_t* first) {
  const int64_t results = RowElements(indexing), elements = SliceElements(indexing);
  Launch(FillNumbers, ForElements(results), results, first);
  Launch(MinOfSlices, ForElements(elements), x, y, indices, indexing, first_slice, elements, first);
}

void SegmentArgmax(const float* x, const int32_t* indices, const RowIndexing& indexing, float fill, int32_t* first) {
  ScratchLayout layout;
  const int64_t of_largest = layout.Add<float>(RowElements(indexing));
  const ScratchMemory scratch(layout);
  float* const largest = scratch.At<float>(of_largest);
  SegmentMax(x, indices, indexing, fill, largest);
  SegmentFirst(x, largest, indices, indexing, 0, first);
}

void SegmentMaxGradient(const float* dy, const int32_t* first, const int32_t* indices, const RowIndexing& indexing,
                        int64_t first_slice, float* dx) {
  const int64_t elements = SliceElements(indexing);
  Launch(TakeFirst, ForElements(elements), dy, first, indices, indexing, first_slice, elements, dx);
}

}  // namespace cleave::runtime
