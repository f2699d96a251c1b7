// Products by groups, by kernels of our own: how many rows a group has is known on the GPU only, and no number of
// blocks may depend on it, so that a step can be recorded.
//
// Rows are put into buckets by their groups first (runtime/kernels/cuda/buckets.cuh), and are then read in that order.
// A block computes a tile of the result, of kTile x kTile elements, as a sum of products of two tiles in shared memory,
// on the tensor cores for 16 bits, by multiply and add for f32:
//
//   GroupedMatMul     the rows of a tile may be of several groups; for each of them, all of k is summed, with zeros in
//                     place of the rows of the others
//   GroupedMatMulSum  a tile of one group's matrix is summed over the rows of its bucket
#include <cstdint>
#include <type_traits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/tensor_cores.cuh"
#include "runtime/device/reals.h"
#include "runtime/device/work.h"
#include "runtime/kernels/cuda/buckets.cuh"
#include "runtime/math/grouped.h"  // IWYU pragma: associated

namespace cleave::runtime {
namespace {

constexpr int kTile = 64;
constexpr int kDepth = 32;  // Of the sum, at once.
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

// A matrix in shared memory. Tensor cores need rows that begin at multiples of 16 bytes; with one element more than
// needed, the floats of a column lie in different banks.
template <typename T, int kRows, int kColumns>
struct Tile {
  static constexpr int kPitch = kColumns + (std::is_same_v<T, float> ? 1 : 16);
  T values[kRows * kPitch];

  // Element (row, column) is value(row, column); neighbouring threads take neighbouring columns.
  template <typename Value>
  __device__ void Fill(Value value) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kColumns; i += kThreads) {
      values[i / kColumns * kPitch + i % kColumns] = value(i / kColumns, i % kColumns);
    }
  }
};

// What a block has in shared memory: the tiles of both factors as they are stored, kTile x kDepth or transposed, and
// the result where it passes through on its way out.
template <typename T, bool kTransposeA, bool kTransposeB>
struct Tiles {
  Tile<T, kTransposeA ? kDepth : kTile, kTransposeA ? kTile : kDepth> a;
  alignas(32) Tile<T, kTransposeB ? kTile : kDepth, kTransposeB ? kDepth : kTile> b;
  alignas(32) float result[kTile * kTile];
  int32_t rows[kTile];    // Of x or of both factors: their numbers, -1 for none.
  int32_t groups[kTile];  // Of these rows, counted from the first that has a matrix; kNoGroup for others.
};

constexpr int32_t kNoGroup = INT32_MAX;

// The block's tile of the result. Every warp has kTile / kWarps rows of it.
template <typename T, bool kTransposeA, bool kTransposeB>
class TileSum {
 public:
  using Shared = Tiles<T, kTransposeA, kTransposeB>;

  __device__ TileSum() {
#pragma unroll
    for (auto& part : parts_) nvcuda::wmma::fill_fragment(part, 0.0f);
  }

  __device__ void Add(const Shared& tiles) {
    namespace wmma = nvcuda::wmma;
    using LayoutA = std::conditional_t<kTransposeA, wmma::col_major, wmma::row_major>;
    using LayoutB = std::conditional_t<kTransposeB, wmma::col_major, wmma::row_major>;
    const int row = static_cast<int>(threadIdx.x) / 32 * 16;
    const auto* a = reinterpret_cast<const Narrow<T>*>(tiles.a.values);
    const auto* b = reinterpret_cast<const Narrow<T>*>(tiles.b.values);
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, Narrow<T>, LayoutA> left;
      wmma::load_matrix_sync(left, a + (kTransposeA ? k * tiles.a.kPitch + row : row * tiles.a.kPitch + k),
                             tiles.a.kPitch);
#pragma unroll
      for (int c = 0; c < kTile / 16; ++c) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Narrow<T>, LayoutB> right;
        const int column = c * 16;
        wmma::load_matrix_sync(right, b + (kTransposeB ? column * tiles.b.kPitch + k : k * tiles.b.kPitch + column),
                               tiles.b.kPitch);
        wmma::mma_sync(parts_[c], left, right, parts_[c]);
      }
    }
  }

  __device__ void Store(float* result) const {
    const int row = static_cast<int>(threadIdx.x) / 32 * 16;
#pragma unroll
    for (int c = 0; c < kTile / 16; ++c) {
      nvcuda::wmma::store_matrix_sync(result + row * kTile + c * 16, parts_[c], kTile, nvcuda::wmma::mem_row_major);
    }
  }

 private:
  static_assert(kTile == 16 * kWarps);
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> parts_[kTile / 16];
};

template <bool kTransposeA, bool kTransposeB>
class TileSum<float, kTransposeA, kTransposeB> {
 public:
  using Shared = Tiles<float, kTransposeA, kTransposeB>;

  __device__ void Add(const Shared& tiles) {
    for (int k = 0; k < kDepth; ++k) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int row = Row() + r;
        const float left = tiles.a.values[kTransposeA ? k * tiles.a.kPitch + row : row * tiles.a.kPitch + k];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const int column = Column(c);
          sums_[r][c] += left * tiles.b.values[kTransposeB ? column * tiles.b.kPitch + k : k * tiles.b.kPitch + column];
        }
      }
    }
  }

  __device__ void Store(float* result) const {
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kColumns; ++c) result[(Row() + r) * kTile + Column(c)] = sums_[r][c];
    }
  }

 private:
  // A thread has kRows rows, one after another, and every eighth column.
  static constexpr int kColumns = kTile / 8;
  static constexpr int kRows = kTile * 8 / kThreads;
  __device__ static int Row() { return static_cast<int>(threadIdx.x) / 8 * kRows; }
  __device__ static int Column(int c) { return static_cast<int>(threadIdx.x) % 8 + 8 * c; }

  float sums_[kRows][kColumns] = {};
};

// A matrix in memory, of which `rows` x `columns` elements exist; others are zeros.
template <typename T>
struct Matrix {
  const T* values;
  int64_t rows;
  int64_t columns;

  __device__ T At(int64_t row, int64_t column) const {
    return row < rows && column < columns ? values[row * columns + column] : T(0.0f);
  }
};

template <typename In, bool kTransposeB>
__global__ void MultiplyGroups(GroupedShape shape, Buckets buckets, const In* x, const In* weights, Reals y) {
  using Product = TileSum<In, false, kTransposeB>;
  auto& tiles = *reinterpret_cast<typename Product::Shared*>(DynamicShared());
  const int64_t tiles_in_row = (shape.n + kTile - 1) / kTile;
  const int64_t first = static_cast<int64_t>(blockIdx.x) / tiles_in_row * kTile;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) % tiles_in_row * kTile;
  if (static_cast<int>(threadIdx.x) < kTile) {
    const int64_t place = first + threadIdx.x;
    const int32_t row = place < shape.rows ? buckets.updates[place] : -1;
    const int64_t group = row >= 0 ? buckets.RowOf(row) : shape.groups;
    tiles.rows[threadIdx.x] = row;
    tiles.groups[threadIdx.x] = group < shape.groups ? static_cast<int32_t>(group) : kNoGroup;
  }
  __syncthreads();
  const Matrix<In> rows = {x, shape.rows, shape.k};
  Product sum;
  for (int32_t done = -1;;) {
    // The next group that has rows in the tile.
    int32_t group = kNoGroup;
    for (const int32_t own : tiles.groups) group = own > done ? min(group, own) : group;
    if (group == kNoGroup) break;
    const Matrix<In> weight = {weights + group * shape.k * shape.n, kTransposeB ? shape.n : shape.k,
                               kTransposeB ? shape.k : shape.n};
    for (int64_t k = 0; k < shape.k; k += kDepth) {
      tiles.a.Fill([&](int r, int c) { return tiles.groups[r] == group ? rows.At(tiles.rows[r], k + c) : In(0.0f); });
      tiles.b.Fill([&](int r, int c) {
        return kTransposeB ? weight.At(first_column + r, k + c) : weight.At(k + r, first_column + c);
      });
      __syncthreads();
      sum.Add(tiles);
      __syncthreads();
    }
    done = group;
  }
  sum.Store(tiles.result);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile; i += kThreads) {
    const int64_t row = tiles.rows[i / kTile];
    const int64_t column = first_column + i % kTile;
    if (row >= 0 && column < shape.n) y.Set(row * shape.n + column, tiles.result[i]);
  }
}

template <typename In>
__global__ void SumGroups(GroupedShape shape, Buckets buckets, const In* a, const In* b, float* y) {
  using Product = TileSum<In, true, false>;
  auto& tiles = *reinterpret_cast<typename Product::Shared*>(DynamicShared());
  const int64_t tiles_in_row = (shape.n + kTile - 1) / kTile;
  const int64_t tiles_in_column = (shape.k + kTile - 1) / kTile;
  const int64_t group = static_cast<int64_t>(blockIdx.x) / (tiles_in_row * tiles_in_column);
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) / tiles_in_row % tiles_in_column * kTile;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) % tiles_in_row * kTile;
  const Matrix<In> left = {a, shape.rows, shape.k};
  const Matrix<In> right = {b, shape.rows, shape.n};
  const int32_t end = buckets.starts[group + 1];
  Product sum;
  for (int32_t first = buckets.starts[group]; first < end; first += kDepth) {
    if (static_cast<int>(threadIdx.x) < kDepth) {
      const int32_t place = first + static_cast<int32_t>(threadIdx.x);
      tiles.rows[threadIdx.x] = place < end ? buckets.updates[place] : -1;
    }
    __syncthreads();
    tiles.a.Fill([&](int r, int c) { return tiles.rows[r] >= 0 ? left.At(tiles.rows[r], first_row + c) : In(0.0f); });
    tiles.b.Fill(
        [&](int r, int c) { return tiles.rows[r] >= 0 ? right.At(tiles.rows[r], first_column + c) : In(0.0f); });
    __syncthreads();
    sum.Add(tiles);
    __syncthreads();
  }
  sum.Store(tiles.result);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile; i += kThreads) {
    const int64_t r = first_row + i / kTile;
    const int64_t c = first_column + i % kTile;
    if (r < shape.k && c < shape.n) y[(group * shape.k + r) * shape.n + c] = tiles.result[i];
  }
}

// The rows by their groups; those without a matrix are one group more.
Bucketed ByGroup(const GroupedShape& shape, const int32_t* groups) {
  return Bucketed(groups, 1, shape.rows, shape.groups + 1, shape.first_group, shape.groups);
}

int64_t TilesOf(int64_t size) { return (size + kTile - 1) / kTile; }

template <typename In>
void Check() {
  if constexpr (!std::is_same_v<In, float>) CheckTensorCores<In>("a product by groups");
}

double Flops(const GroupedShape& shape) {
  return 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.k * shape.n);
}

template <typename In, bool kTransposeB, typename Out>
void Multiply(const GroupedShape& shape, const In* x, const In* weights, const int32_t* groups, Out* y) {
  if (shape.rows == 0) return;
  const Bucketed rows = ByGroup(shape, groups);
  const LaunchShape launch = {TilesOf(shape.rows) * TilesOf(shape.n), kThreads,
                              static_cast<int>(sizeof(Tiles<In, false, kTransposeB>))};
  Launch(MultiplyGroups<In, kTransposeB>, launch, shape, rows.buckets(), x, weights, Reals(y));
}

}  // namespace

template <typename In, typename Out>
void GroupedMatMul(const GroupedShape& shape, const In* x, const In* weights, const int32_t* groups, Out* y) {
  Check<In>();
  CountFlops(Flops(shape));
  if (shape.transpose_b) return Multiply<In, true>(shape, x, weights, groups, y);
  Multiply<In, false>(shape, x, weights, groups, y);
}

template <typename In>
void GroupedMatMulSum(const GroupedShape& shape, const In* a, const In* b, const int32_t* groups, float* y) {
  Check<In>();
  CountFlops(Flops(shape));
  const Bucketed rows = ByGroup(shape, groups);
  const LaunchShape launch = {shape.groups * TilesOf(shape.k) * TilesOf(shape.n), kThreads,
                              static_cast<int>(sizeof(Tiles<In, true, false>))};
  Launch(SumGroups<In>, launch, shape, rows.buckets(), a, b, y);
}

#define CLEAVE_PRODUCTS(In, Out) \
  template void GroupedMatMul(const GroupedShape&, const In*, const In*, const int32_t*, Out*);
CLEAVE_PRODUCTS(float, float)
CLEAVE_PRODUCTS(BFloat16, float)
CLEAVE_PRODUCTS(BFloat16, BFloat16)
CLEAVE_PRODUCTS(Float16, float)
CLEAVE_PRODUCTS(Float16, Float16)
#undef CLEAVE_PRODUCTS
template void GroupedMatMulSum(const GroupedShape&, const float*, const float*, const int32_t*, float*);
template void GroupedMatMulSum(const GroupedShape&, const BFloat16*, const BFloat16*, const int32_t*, float*);
template void GroupedMatMulSum(const GroupedShape&, const Float16*, const Float16*, const int32_t*, float*);

}  // namespace cleave::runtime
