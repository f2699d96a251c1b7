// Operations on rows that are chosen by number.
//
// ScatterAdd sums a row's updates in the order in which they come, so that its result depends on nothing else. Updates
// are first put into buckets by their rows: counted, placed, and ordered inside of each bucket by counting how many
// come before; then each element of the result is one thread's sum over its row's bucket. Time: that of reading and
// writing the tensors once, and of bucket size squared, in parallel, for each bucket.
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/memory.h"
#include "runtime/kernels/cuda/aligned.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/indexing.h"

namespace cleave::runtime {
namespace {

// Elements that a thread moves at once: four floats where all rows begin at multiples of 16 bytes.
template <typename... T>
bool CanMoveFour(int64_t inner, const T&... places) {
  return inner % 4 == 0 && AreAligned(places...);
}

template <int kCount>
__global__ void GatherRows(RowIndexing indexing, ConstReals x, const int32_t* indices, float* y) {
  const int64_t vectors = indexing.inner / kCount;
  const int64_t all = indexing.batch * indexing.outer * indexing.count * vectors;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t place = at / vectors;
    const int64_t i = place % indexing.count;
    const int64_t o = place / indexing.count;
    const int64_t row = static_cast<int64_t>(indices[o / indexing.outer * indexing.count + i]) - indexing.first_row;
    Vector<float, kCount> value = {};
    if (row >= 0 && row < indexing.rows) {
      value = LoadReals<kCount>(x, (o * indexing.rows + row) * indexing.inner + at % vectors * kCount);
    }
    Store(value, y + at * kCount);
  }
}

// Where the updates of each row stand in a list of all updates. There are `rows` rows, those of all elements of the
// batch one after another; some updates may be for rows outside of those of their element.
struct Buckets {
  const int32_t* indices;
  int64_t count;
  int64_t rows;
  int64_t element_count;  // Updates of one element of the batch.
  int64_t element_rows;
  int64_t first_row;
  int32_t* starts;     // [rows + 1]: the bucket of row r is [starts[r], starts[r + 1]) of the lists.
  int32_t* filled;     // [rows]
  int32_t* unordered;  // [count]
  int32_t* updates;    // [count]: their numbers, ascending in each bucket.

  // -1 for a row outside.
  __device__ int64_t RowOf(int64_t update) const {
    const int64_t row = static_cast<int64_t>(indices[update]) - first_row;
    return row >= 0 && row < element_rows ? update / element_count * element_rows + row : -1;
  }
};

// starts[row + 1] = the number of its updates. Sums of integers do not depend on their order.
__global__ void CountUpdates(Buckets buckets) {
  for (int64_t i = FirstElement(); i < buckets.count; i += ElementStride()) {
    const int64_t row = buckets.RowOf(i);
    if (row >= 0) atomicAdd(&buckets.starts[row + 1], 1);
  }
}

// The running sums of starts[1 … rows], computed by one block: each thread sums one piece, and starts with the sum of
// the pieces before.
constexpr int kScanThreads = 1024;
__global__ void SumCounts(Buckets buckets) {
  __shared__ int32_t before[kScanThreads];
  const int64_t piece = (buckets.rows + kScanThreads - 1) / kScanThreads;
  const int64_t begin = threadIdx.x * piece + 1;
  const int64_t end = min(begin + piece, buckets.rows + 1);
  int32_t sum = 0;
  for (int64_t r = begin; r < end; ++r) sum += buckets.starts[r];
  before[threadIdx.x] = sum;
  for (int step = 1; step < kScanThreads; step *= 2) {
    __syncthreads();
    const int32_t other = static_cast<int>(threadIdx.x) >= step ? before[threadIdx.x - step] : 0;
    __syncthreads();
    before[threadIdx.x] += other;
  }
  int32_t running = before[threadIdx.x] - sum;  // The sum before its own piece.
  for (int64_t r = begin; r < end; ++r) {
    running += buckets.starts[r];
    buckets.starts[r] = running;
  }
}

// The place that an update gets in its bucket depends on timing; OrderUpdates sorts the buckets afterwards.
__global__ void PlaceUpdates(Buckets buckets) {
  for (int64_t i = FirstElement(); i < buckets.count; i += ElementStride()) {
    const int64_t row = buckets.RowOf(i);
    if (row < 0) continue;
    const int32_t place = buckets.starts[row] + atomicAdd(&buckets.filled[row], 1);
    buckets.unordered[place] = static_cast<int32_t>(i);
  }
}

__global__ void OrderUpdates(Buckets buckets) {
  const int64_t placed = buckets.starts[buckets.rows];
  for (int64_t at = FirstElement(); at < placed; at += ElementStride()) {
    const int32_t update = buckets.unordered[at];
    const int64_t row = buckets.RowOf(update);
    const int32_t begin = buckets.starts[row];
    const int32_t end = buckets.starts[row + 1];
    int32_t before = 0;
#pragma unroll 4
    for (int32_t other = begin; other < end; ++other) before += buckets.unordered[other] < update ? 1 : 0;
    buckets.updates[begin + before] = update;
  }
}

template <int kCount>
__global__ void SumBuckets(Buckets buckets, int64_t outer, int64_t inner, const float* updates, float* y) {
  const int64_t vectors = inner / kCount;
  const int64_t all = outer * buckets.rows * vectors;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t place = at / vectors;
    const int64_t o = place / buckets.element_rows;  // Of all elements of the batch.
    const int64_t element = o / outer;
    const int64_t row = element * buckets.element_rows + place % buckets.element_rows;
    // Updates are numbered in the whole batch.
    const float* const from = updates + (o - element) * buckets.element_count * inner + at % vectors * kCount;
    const int32_t end = buckets.starts[row + 1];
    Vector<float, kCount> sum = {};
#pragma unroll 4
    for (int32_t slot = buckets.starts[row]; slot < end; ++slot) {
      const auto update = Load<kCount>(from + buckets.updates[slot] * inner);
#pragma unroll
      for (int j = 0; j < kCount; ++j) sum[j] += update[j];
    }
    Store(sum, y + at * kCount);
  }
}

__global__ void ScatterRows(RowIndexing indexing, ConstReals updates, const int32_t* indices, Reals y) {
  const int64_t all = indexing.batch * indexing.outer * indexing.count * indexing.inner;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t place = at / indexing.inner;
    const int32_t* const own = indices + place / indexing.count / indexing.outer * indexing.count;
    const int64_t row = static_cast<int64_t>(own[place % indexing.count]) - indexing.first_row;
    if (row < 0 || row >= indexing.rows) continue;
    y.Set((place / indexing.count * indexing.rows + row) * indexing.inner + at % indexing.inner, updates[at]);
  }
}

// Each warp looks for one number. The lanes look at 32 places at once, and none looks behind the first that is found.
constexpr int kLanes = 32;
__global__ void FindDistinct(const int32_t* indices, int64_t count, int64_t rows, int32_t* y) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  for (int64_t i = FirstElement() / kLanes; i < count; i += ElementStride() / kLanes) {
    const int32_t index = indices[i];
    bool is_first = index >= 0 && index < rows;
    for (int64_t begin = 0; is_first && begin < i; begin += kLanes) {
      const int64_t j = begin + lane;
      is_first = __any_sync(~0u, j < i && indices[j] == index) == 0;
    }
    if (lane == 0) y[i] = is_first ? index : -1;
  }
}

// Each warp sums one row. The lanes look at 32 places at once, and add what they find in the order of the places, each
// in its own columns.
__global__ void SumEqualRows(const float* x, const int32_t* indices, const int32_t* places, int64_t count,
                             int64_t inner, float* y) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  for (int64_t i = FirstElement() / kLanes; i < count; i += ElementStride() / kLanes) {
    const int32_t index = places[i];
    for (int64_t column = lane; column < inner; column += kLanes) y[i * inner + column] = 0.0f;
    for (int64_t begin = i; index >= 0 && begin < count; begin += kLanes) {
      const int64_t j = begin + lane;
      unsigned found = __ballot_sync(~0u, j < count && indices[j] == index);
      for (; found != 0; found &= found - 1) {
        const float* const from = x + (begin + __ffs(static_cast<int>(found)) - 1) * inner;
        for (int64_t column = lane; column < inner; column += kLanes) y[i * inner + column] += from[column];
      }
    }
  }
}

__global__ void OneHotRows(const int32_t* classes, int64_t count, int64_t depth, int64_t first, float* y) {
  for (int64_t at = FirstElement(); at < count * depth; at += ElementStride()) {
    y[at] = static_cast<int64_t>(classes[at / depth]) - first == at % depth ? 1.0f : 0.0f;
  }
}

}  // namespace

void Gather(ConstReals x, const int32_t* indices, const RowIndexing& indexing, float* y) {
  const int64_t elements = indexing.batch * indexing.outer * indexing.count * indexing.inner;
  if (CanMoveFour(indexing.inner, x, y)) {
    Launch(GatherRows<4>, ForElements(elements / 4), indexing, x, indices, y);
  } else {
    Launch(GatherRows<1>, ForElements(elements), indexing, x, indices, y);
  }
}

void Scatter(ConstReals x, ConstReals updates, const int32_t* indices, const RowIndexing& indexing, Reals y) {
  const int64_t outer = indexing.batch * indexing.outer;
  CopyBytes(x.place(), y.place(), outer * indexing.rows * indexing.inner * SizeOf(x.type()));
  Launch(ScatterRows, ForElements(outer * indexing.count * indexing.inner), indexing, updates, indices, y);
}

void ScatterAdd(const float* updates, const int32_t* indices, const RowIndexing& indexing, float* y) {
  const int64_t elements = indexing.batch * indexing.outer * indexing.rows * indexing.inner;
  if (elements == 0) return;
  const int64_t count = indexing.batch * indexing.count;
  const int64_t rows = indexing.batch * indexing.rows;
  ScratchLayout layout;
  const int64_t starts = layout.Add<int32_t>(rows + 1);
  const int64_t filled = layout.Add<int32_t>(rows);
  const int64_t counts_end = layout.bytes();
  const int64_t unordered = layout.Add<int32_t>(count);
  const int64_t ordered = layout.Add<int32_t>(count);
  const ScratchMemory scratch(layout);
  const Buckets buckets = {indices,
                           count,
                           rows,
                           indexing.count,
                           indexing.rows,
                           indexing.first_row,
                           scratch.At<int32_t>(starts),
                           scratch.At<int32_t>(filled),
                           scratch.At<int32_t>(unordered),
                           scratch.At<int32_t>(ordered)};
  ZeroBytes(buckets.starts, counts_end);
  Launch(CountUpdates, ForElements(count), buckets);
  Launch(SumCounts, {1, kScanThreads}, buckets);
  Launch(PlaceUpdates, ForElements(count), buckets);
  Launch(OrderUpdates, ForElements(count), buckets);
  if (CanMoveFour(indexing.inner, updates, y)) {
    Launch(SumBuckets<4>, ForElements(elements / 4), buckets, indexing.outer, indexing.inner, updates, y);
  } else {
    Launch(SumBuckets<1>, ForElements(elements), buckets, indexing.outer, indexing.inner, updates, y);
  }
}

void Distinct(const int32_t* indices, int64_t count, int64_t rows, int32_t* y) {
  Launch(FindDistinct, ForElements(count * kLanes), indices, count, rows, y);
}

void SumEqual(const float* x, const int32_t* indices, const int32_t* places, int64_t count, int64_t inner, float* y) {
  Launch(SumEqualRows, ForElements(count * kLanes), x, indices, places, count, inner, y);
}

void OneHot(const int32_t* classes, int64_t count, int64_t depth, int64_t first, float* y) {
  Launch(OneHotRows, ForElements(count * depth), classes, count, depth, first, y);
}

}  // namespace cleave::runtime
