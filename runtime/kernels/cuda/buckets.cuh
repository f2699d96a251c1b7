// Numbers of rows put into buckets: which updates each row has. Time: that of reading the numbers some times, and of
// the square of a bucket's size, in parallel, for each bucket.
//
//   const Bucketed bucketed(indices, batch, count, rows, first_row);
//   Launch(SumBuckets, …, bucketed.buckets(), …);
//
// Updates are counted, placed, and ordered inside of each bucket by counting how many come before.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_BUCKETS_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_BUCKETS_CUH_

#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/memory.h"
#include "runtime/kernels/cuda/scratch.cuh"

namespace cleave::runtime {

// Where the updates of each row stand in a list of all updates. There are `rows` rows, those of all elements of the
// batch one after another; some updates may be for rows outside of those of their element.
struct Buckets {
  const int32_t* indices;
  int64_t count;
  int64_t rows;
  int64_t element_count;  // Updates of one element of the batch.
  int64_t element_rows;
  int64_t first_row;
  int64_t others;      // The row of its element for updates of rows that it does not have; -1: they are left out.
  int32_t* starts;     // [rows + 1]: the bucket of row r is [starts[r], starts[r + 1]) of the lists.
  int32_t* filled;     // [rows]
  int32_t* unordered;  // [count]
  int32_t* updates;    // [count]: their numbers, ascending in each bucket.

  // -1 for one that is left out.
  __device__ int64_t RowOf(int64_t update) const {
    const int64_t row = static_cast<int64_t>(indices[update]) - first_row;
    const int64_t own = row >= 0 && row < element_rows ? row : others;
    return own >= 0 ? update / element_count * element_rows + own : -1;
  }
};

// starts[row + 1] = the number of its updates. Sums of integers do not depend on their order.
static __global__ void CountUpdates(Buckets buckets) {
  for (int64_t i = FirstElement(); i < buckets.count; i += ElementStride()) {
    const int64_t row = buckets.RowOf(i);
    if (row >= 0) atomicAdd(&buckets.starts[row + 1], 1);
  }
}

// The running sums of starts[1 … rows], computed by one block: each thread sums one piece, and starts with the sum of
// the pieces before.
constexpr int kScanThreads = 1024;
static __global__ void SumCounts(Buckets buckets) {
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
static __global__ void PlaceUpdates(Buckets buckets) {
  for (int64_t i = FirstElement(); i < buckets.count; i += ElementStride()) {
    const int64_t row = buckets.RowOf(i);
    if (row < 0) continue;
    const int32_t place = buckets.starts[row] + atomicAdd(&buckets.filled[row], 1);
    buckets.unordered[place] = static_cast<int32_t>(i);
  }
}

static __global__ void OrderUpdates(Buckets buckets) {
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

// Buckets with their memory, filled. `others`: see Buckets.
class Bucketed {
 public:
  Bucketed(const int32_t* indices, int64_t batch, int64_t count, int64_t rows, int64_t first_row, int64_t others = -1)
      : Bucketed(Offsets(batch * rows, batch * count), {indices, batch * count, batch * rows, count, rows, first_row,
                                                        others, nullptr, nullptr, nullptr, nullptr}) {}

  const Buckets& buckets() const { return buckets_; }

 private:
  // Where the lists are in the memory.
  struct Offsets {
    ScratchLayout layout;
    int64_t starts, filled, counts_end, unordered, updates;

    Offsets(int64_t rows, int64_t count)
        : starts(layout.Add<int32_t>(rows + 1)),
          filled(layout.Add<int32_t>(rows)),
          counts_end(layout.bytes()),
          unordered(layout.Add<int32_t>(count)),
          updates(layout.Add<int32_t>(count)) {}
  };

  Bucketed(const Offsets& offsets, const Buckets& sizes) : scratch_(offsets.layout), buckets_(sizes) {
    buckets_.starts = scratch_.At<int32_t>(offsets.starts);
    buckets_.filled = scratch_.At<int32_t>(offsets.filled);
    buckets_.unordered = scratch_.At<int32_t>(offsets.unordered);
    buckets_.updates = scratch_.At<int32_t>(offsets.updates);
    ZeroBytes(buckets_.starts, offsets.counts_end);
    Launch(CountUpdates, ForElements(buckets_.count), buckets_);
    Launch(SumCounts, {1, kScanThreads}, buckets_);
    Launch(PlaceUpdates, ForElements(buckets_.count), buckets_);
    Launch(OrderUpdates, ForElements(buckets_.count), buckets_);
  }

  ScratchMemory scratch_;
  Buckets buckets_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_BUCKETS_CUH_
