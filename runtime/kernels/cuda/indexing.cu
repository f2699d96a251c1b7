// Operations on rows that are chosen by number.
//
// ScatterAdd sums a row's updates in the order in which they come, so that its result depends on nothing else: updates
// are put into buckets by their rows (buckets.cuh), and each element of the result is one thread's sum over its row's
// bucket. The buckets of GroupBy are its groups.
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/memory.h"
#include "runtime/kernels/cuda/aligned.cuh"
#include "runtime/kernels/cuda/buckets.cuh"
#include "runtime/kernels/indexing.h"

namespace cleave::runtime {
namespace {

// Elements that a thread moves at once: four floats where all rows begin at multiples of 16 bytes.
template <typename... T>
bool CanMoveFour(int64_t inner, const T&... places) {
  return inner % 4 == 0 && AreAligned(places...);
}

template <int kCount>
__device__ Vector<float, kCount> LoadElements(ConstReals x, int64_t at) {
  return LoadReals<kCount>(x, at);
}
template <int kCount>
__device__ void StoreElements(const Vector<float, kCount>& elements, Reals y, int64_t at) {
  StoreReals(elements, y, at);
}
template <int kCount>
__device__ void StoreElements(const Vector<int32_t, kCount>& elements, int32_t* y, int64_t at) {
  Store(elements, y + at);
}
template <int kCount>
__device__ Vector<int32_t, kCount> LoadElements(const int32_t* x, int64_t at) {
  return Load<kCount>(x + at);
}

// X and Y are ConstReals and Reals, or both are of integers.
template <int kCount, typename X, typename Y>
__global__ void GatherRows(RowIndexing indexing, X x, const int32_t* indices, Y y) {
  const int64_t vectors = indexing.inner / kCount;
  const int64_t all = indexing.batch * indexing.outer * indexing.count * vectors;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t place = at / vectors;
    const int64_t i = place % indexing.count;
    const int64_t o = place / indexing.count;
    const int64_t row = static_cast<int64_t>(indices[o / indexing.outer * indexing.count + i]) - indexing.first_row;
    decltype(LoadElements<kCount>(x, 0)) value = {};
    if (row >= 0 && row < indexing.rows) {
      value = LoadElements<kCount>(x, (o * indexing.rows + row) * indexing.inner + at % vectors * kCount);
    }
    StoreElements(value, y, at * kCount);
  }
}

// kAdds: to what y holds, whose rows without updates are left alone.
template <int kCount, bool kAdds>
__global__ void SumBuckets(Buckets buckets, int64_t outer, int64_t inner, ConstReals updates, float* y) {
  const int64_t vectors = inner / kCount;
  const int64_t all = outer * buckets.rows * vectors;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t place = at / vectors;
    const int64_t o = place / buckets.element_rows;  // Of all elements of the batch.
    const int64_t element = o / outer;
    const int64_t row = element * buckets.element_rows + place % buckets.element_rows;
    // Updates are numbered in the whole batch.
    const ConstReals from = updates + (o - element) * buckets.element_count * inner + at % vectors * kCount;
    const int32_t begin = buckets.starts[row];
    const int32_t end = buckets.starts[row + 1];
    if (kAdds && begin == end) continue;
    Vector<float, kCount> sum = {};
#pragma unroll 4
    for (int32_t slot = begin; slot < end; ++slot) {
      const auto update = LoadReals<kCount>(from, buckets.updates[slot] * inner);
#pragma unroll
      for (int j = 0; j < kCount; ++j) sum[j] += update[j];
    }
    if constexpr (kAdds) {
      const auto held = Load<kCount>(y + at * kCount);
#pragma unroll
      for (int j = 0; j < kCount; ++j) sum[j] += held[j];
    }
    Store(sum, y + at * kCount);
  }
}

// last[b, r] = 1 + the last i whose update of element b is for its row r; it begins as 0.
__global__ void FindLast(RowIndexing indexing, const int32_t* indices, int32_t* last) {
  const int64_t all = indexing.batch * indexing.count;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t row = static_cast<int64_t>(indices[at]) - indexing.first_row;
    if (row < 0 || row >= indexing.rows) continue;
    atomicMax(&last[at / indexing.count * indexing.rows + row], static_cast<int32_t>(at % indexing.count) + 1);
  }
}

// Without `last` no row has two updates.
__global__ void ScatterRows(RowIndexing indexing, ConstReals updates, const int32_t* indices, const int32_t* last,
                            Reals y) {
  const int64_t all = indexing.batch * indexing.outer * indexing.count * indexing.inner;
  for (int64_t at = FirstElement(); at < all; at += ElementStride()) {
    const int64_t place = at / indexing.inner;
    const int64_t element = place / indexing.count / indexing.outer;
    const int64_t i = place % indexing.count;
    const int64_t row = static_cast<int64_t>(indices[element * indexing.count + i]) - indexing.first_row;
    if (row < 0 || row >= indexing.rows) continue;
    if (last != nullptr && last[element * indexing.rows + row] != i + 1) continue;
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

// The wanted places of the groups, which are rows of buckets.
__global__ void WritePlaces(Buckets buckets, int64_t first_place, int64_t capacity, int32_t* y) {
  for (int64_t at = FirstElement(); at < buckets.rows * capacity; at += ElementStride()) {
    const int64_t row = at / capacity;
    const int64_t slot = buckets.starts[row] + first_place + at % capacity;
    y[at] = static_cast<int32_t>(slot < buckets.starts[row + 1] ? buckets.updates[slot] % buckets.element_count
                                                                : buckets.element_count);
  }
}

template <typename X, typename Y>
void GatherElements(X x, const int32_t* indices, const RowIndexing& indexing, Y y) {
  const int64_t elements = indexing.batch * indexing.outer * indexing.count * indexing.inner;
  if (CanMoveFour(indexing.inner, x, y)) {
    Launch(GatherRows<4, X, Y>, ForElements(elements / 4), indexing, x, indices, y);
  } else {
    Launch(GatherRows<1, X, Y>, ForElements(elements), indexing, x, indices, y);
  }
}

}  // namespace

void Gather(ConstReals x, const int32_t* indices, const RowIndexing& indexing, Reals y) {
  GatherElements(x, indices, indexing, y);
}

void Gather(const int32_t* x, const int32_t* indices, const RowIndexing& indexing, int32_t* y) {
  GatherElements(x, indices, indexing, y);
}

void Scatter(ConstReals x, ConstReals updates, const int32_t* indices, const RowIndexing& indexing, Reals y) {
  const int64_t outer = indexing.batch * indexing.outer;
  CopyBytes(x.place(), y.place(), outer * indexing.rows * indexing.inner * SizeOf(x.type()));
  ScratchLayout layout;
  const int64_t rows = indexing.count > 1 ? indexing.batch * indexing.rows : 0;
  const int64_t place = layout.Add<int32_t>(rows);
  const ScratchMemory scratch(layout);
  int32_t* const last = rows > 0 ? scratch.At<int32_t>(place) : nullptr;
  if (last != nullptr) {
    ZeroBytes(last, rows * static_cast<int64_t>(sizeof(int32_t)));
    Launch(FindLast, ForElements(indexing.batch * indexing.count), indexing, indices, last);
  }
  Launch(ScatterRows, ForElements(outer * indexing.count * indexing.inner), indexing, updates, indices, last, y);
}

void ScatterAdd(ConstReals updates, const int32_t* indices, const RowIndexing& indexing, float* y) {
  AccumulateScatterAdd(true, updates, indices, indexing, y);
}

void AccumulateScatterAdd(bool is_first, ConstReals updates, const int32_t* indices, const RowIndexing& indexing,
                          float* y) {
  const int64_t elements = indexing.batch * indexing.outer * indexing.rows * indexing.inner;
  if (elements == 0) return;
  const Bucketed bucketed(indices, indexing.batch, indexing.count, indexing.rows, indexing.first_row);
  const int64_t width = CanMoveFour(indexing.inner, updates, y) ? 4 : 1;
  const auto sum = width == 4 ? is_first ? SumBuckets<4, false> : SumBuckets<4, true>
                   : is_first ? SumBuckets<1, false>
                              : SumBuckets<1, true>;
  Launch(sum, ForElements(elements / width), bucketed.buckets(), indexing.outer, indexing.inner, updates, y);
}

void Distinct(const int32_t* indices, int64_t count, int64_t rows, int32_t* y) {
  Launch(FindDistinct, ForElements(count * kLanes), indices, count, rows, y);
}

void SumEqual(const float* x, const int32_t* indices, const int32_t* places, int64_t count, int64_t inner, float* y) {
  Launch(SumEqualRows, ForElements(count * kLanes), x, indices, places, count, inner, y);
}

void GroupBy(const int32_t* x, int64_t rows, int64_t columns, const GroupPlaces& places, int32_t* y) {
  const int64_t elements = rows * places.groups * places.capacity;
  if (elements == 0) return;
  const Bucketed groups(x, rows, columns, places.groups, places.first_group);
  Launch(WritePlaces, ForElements(elements), groups.buckets(), places.first_place, places.capacity, y);
}

void OneHot(const int32_t* classes, int64_t count, int64_t depth, int64_t first, float* y) {
  Launch(OneHotRows, ForElements(count * depth), classes, count, depth, first, y);
}

}  // namespace cleave::runtime
