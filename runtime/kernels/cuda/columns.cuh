// Reductions over the middle of three dimensions: [outer, reduced, inner] becomes [outer, inner].
//
//   const ColumnReduction reduction({1, rows, columns});
//   reduction.Run<Sum>(ElementOf{x}, 1.0f, parts, sums);     // parts: float[reduction.part_count()]
//
// Where there are few results, the reduced dimension is cut into parts whose results are reduced again. How it is cut
// depends on the shape only. A sum of n elements is made of chains of about sqrt(n) elements, which are combined
// pairwise.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_COLUMNS_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_COLUMNS_CUH_

#include <algorithm>
#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/reals.h"
#include "runtime/kernels/cuda/group.cuh"

namespace cleave::runtime {

struct ColumnShape {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

// How the reduced dimension is cut: `count` parts of `size` elements, of which the last ones may hold fewer.
struct ReducedParts {
  int64_t count = 1;
  int64_t size = 0;
};

// The value that is reduced: of row `row` of all outer * reduced ones, at `index` of all elements.
struct ElementOf {
  ConstReals x;

  __device__ float operator()(int64_t, int64_t index) const { return x[index]; }
};

constexpr int kColumnThreads = 256;

// Columns that a block takes side by side, a power of two; its other threads take other rows.
inline int ColumnsPerBlock(int64_t inner) {
  int width = 1;
  while (width < kWarp && width < inner) width *= 2;
  return width;
}

// y[outer, part, inner]: the results of each part, divided by `divisor`.
template <typename Op, typename Value>
__global__ void ReduceParts(Value value, ColumnShape shape, ReducedParts parts, int width, float divisor, float* y) {
  const Op combine;
  const int lanes = kColumnThreads / width;
  const int lane = static_cast<int>(threadIdx.x) / width;
  const int64_t chunks = (shape.inner + width - 1) / width;
  __shared__ float results[kColumnThreads];
  for (int64_t block = blockIdx.x; block < shape.outer * parts.count * chunks; block += gridDim.x) {
    const int64_t column = block % chunks * width + static_cast<int>(threadIdx.x) % width;
    const int64_t part = block / chunks % parts.count;
    const int64_t outer = block / chunks / parts.count;
    const int64_t end = min((part + 1) * parts.size, shape.reduced);
    float result = Op::kIdentity;
    if (column < shape.inner) {
#pragma unroll 4
      for (int64_t r = part * parts.size + lane; r < end; r += lanes) {
        const int64_t row = outer * shape.reduced + r;
        result = combine(result, value(row, row * shape.inner + column));
      }
    }
    results[threadIdx.x] = result;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
      if (lane < half) results[threadIdx.x] = combine(results[threadIdx.x], results[threadIdx.x + half * width]);
      __syncthreads();
    }
    if (lane == 0 && column < shape.inner) {
      y[(outer * parts.count + part) * shape.inner + column] = results[threadIdx.x] / divisor;
    }
    __syncthreads();  // All have read `results`, which is written again.
  }
}

// One thread per result, for many results of few elements each.
template <typename Op, typename Value>
__global__ void ReduceFew(Value value, ColumnShape shape, float divisor, float* y) {
  const Op combine;
  for (int64_t i = FirstElement(); i < shape.outer * shape.inner; i += ElementStride()) {
    const int64_t first_row = i / shape.inner * shape.reduced;
    const int64_t column = i % shape.inner;
    float result = Op::kIdentity;
#pragma unroll 4
    for (int64_t row = first_row; row < first_row + shape.reduced; ++row) {
      result = combine(result, value(row, row * shape.inner + column));
    }
    y[i] = result / divisor;
  }
}

class ColumnReduction {
 public:
  explicit ColumnReduction(const ColumnShape& shape) : shape_(shape), parts_{1, shape.reduced} {
    constexpr int64_t kEnoughBlocks = 1024;
    constexpr int64_t kLeastPart = 64;
    const int64_t blocks = BlockCount(shape.outer);
    if (IsFew() || blocks == 0 || blocks >= kEnoughBlocks / 2) return;
    const int64_t parts = std::min(kEnoughBlocks / blocks, shape.reduced / kLeastPart);
    if (parts > 1) parts_.size = (shape.reduced + parts - 1) / parts;
    if (parts > 1) parts_.count = (shape.reduced + parts_.size - 1) / parts_.size;
  }

  // Elements of the intermediate result.
  int64_t part_count() const { return parts_.count == 1 ? 0 : shape_.outer * parts_.count * shape_.inner; }

  template <typename Op, typename Value>
  void Run(const Value& value, float divisor, float* parts, float* y) const {
    if (IsFew()) {
      return Launch(ReduceFew<Op, Value>, ForElements(shape_.outer * shape_.inner), value, shape_, divisor, y);
    }
    const int width = ColumnsPerBlock(shape_.inner);
    const bool whole = parts_.count == 1;
    Launch(ReduceParts<Op, Value>, Blocks(shape_.outer * parts_.count), value, shape_, parts_, width,
           whole ? divisor : 1.0f, whole ? y : parts);
    if (whole) return;
    const ColumnShape rest = {shape_.outer, parts_.count, shape_.inner};
    Launch(ReduceParts<Op, ElementOf>, Blocks(shape_.outer), ElementOf{parts}, rest, ReducedParts{1, parts_.count},
           width, divisor, y);
  }

 private:
  bool IsFew() const {
    constexpr int64_t kManyResults = 16384;
    return shape_.reduced <= 8 || (shape_.reduced <= 64 && shape_.outer * shape_.inner >= kManyResults);
  }
  int64_t BlockCount(int64_t rows) const {
    const int64_t width = ColumnsPerBlock(shape_.inner);
    return rows * ((shape_.inner + width - 1) / width);
  }
  LaunchShape Blocks(int64_t rows) const { return {std::min(BlockCount(rows), int64_t{1} << 30), kColumnThreads}; }

  ColumnShape shape_;
  ReducedParts parts_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_COLUMNS_CUH_
