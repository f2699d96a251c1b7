// Tiles of attention in shared memory, and products of them. Private to attention.cu.
//
// A block of four warps works on `kTile` rows of its own (queries, or keys) against tiles of as many others. Everything
// is made of two products of tiles, each of which exists twice: for float by multiply and add, for 16 bits on the
// tensor cores.
//
//   Scores(a, b, s):         s = a b^T               a, b [kTile, kHead], s [kTile, kTile] in float
//   Accumulator::Add(p, b):  result += p b           p [kTile, kTile], b and the result [kTile, kHead]
//
// Every warp computes kTile / 4 rows of a result alone. The rows of other warps that it reads were written before a
// barrier.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_ATTENTION_TILES_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_ATTENTION_TILES_CUH_

#include <cstdint>

#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/tensor_cores.cuh"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/float16.h"
#include "runtime/kernels/cuda/aligned.cuh"

namespace cleave::runtime::attention {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;

// Tensor cores need rows that begin at multiples of 32 bytes.
template <typename T, int kHead>
struct Sizes {
  static constexpr int kTile = 64;
  static constexpr int kPitch = kHead + 16;        // Of a tile of a tensor, in elements.
  static constexpr int kScorePitch = kTile + 8;    // Of a tile of scores in float.
  static constexpr int kWeightPitch = kTile + 16;  // Of one in T.
};

// Rows are one element longer than needed, so that a column lies in all banks of shared memory.
template <int kHead>
struct Sizes<float, kHead> {
  static constexpr int kTile = 32;
  static constexpr int kPitch = kHead + 1;
  static constexpr int kScorePitch = kTile + 1;
  static constexpr int kWeightPitch = kTile + 1;
};

// Bytes of a tile; multiples of 32.
constexpr int Aligned(int bytes) { return (bytes + 31) / 32 * 32; }
template <typename T, int kHead>
constexpr int kTileBytes = Aligned(Sizes<T, kHead>::kTile* Sizes<T, kHead>::kPitch* static_cast<int>(sizeof(T)));
template <typename T, int kHead>
constexpr int kScoreBytes = Aligned(Sizes<T, kHead>::kTile* Sizes<T, kHead>::kScorePitch * 4);
template <typename T, int kHead>
constexpr int kWeightBytes =
    Aligned(Sizes<T, kHead>::kTile* Sizes<T, kHead>::kWeightPitch* static_cast<int>(sizeof(T)));

// The rows of one head in a tensor.
template <typename T>
struct Rows {
  T* data;
  int64_t stride;

  __device__ T* At(int64_t row) const { return data + row * stride; }
};

// Rows [first, first + kTile) of `tensor` [rows, head]; zeros outside of the tensor.
template <typename T, int kHead>
__device__ void LoadTile(Rows<const T> tensor, int64_t first, int64_t rows, int head, T* __restrict__ tile) {
  using Size = Sizes<T, kHead>;
  constexpr int kElements = static_cast<int>(kVectorBytes / sizeof(T));
  const bool in_vectors = head % kElements == 0 && tensor.stride % kElements == 0 &&
                          reinterpret_cast<uintptr_t>(tensor.data) % kVectorBytes == 0;
  if (in_vectors) {
    for (int i = static_cast<int>(threadIdx.x); i < Size::kTile * kHead / kElements; i += kThreads) {
      const int row = i / (kHead / kElements);
      const int column = i % (kHead / kElements) * kElements;
      Vector<T, kElements> vector = {};
      if (first + row < rows && column < head) vector = Load<kElements>(tensor.At(first + row) + column);
      T* const place = tile + row * Size::kPitch + column;
      if constexpr (Size::kPitch % kElements == 0) {
        Store(vector, place);
      } else {
#pragma unroll
        for (int e = 0; e < kElements; ++e) place[e] = vector[e];
      }
    }
    return;
  }
  for (int i = static_cast<int>(threadIdx.x); i < Size::kTile * kHead; i += kThreads) {
    const int row = i / kHead;
    const int column = i % kHead;
    const bool inside = first + row < rows && column < head;
    tile[row * Size::kPitch + column] = inside ? tensor.At(first + row)[column] : T(0.0f);
  }
}

// How a thread's share of a product in float is laid out: rows one after another, every eighth column.
template <int kTile>
struct Share {
  static constexpr int kRows = kTile / 16;
  static constexpr int kColumns = kTile / 8;
  __device__ static int Row() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return warp * (kTile / kWarps) + static_cast<int>(threadIdx.x) % 32 / 8 * kRows;
  }
  __device__ static int Column() { return static_cast<int>(threadIdx.x) % 8; }
};

template <int kHead>
__device__ void Scores(const float* a, const float* b, float* scores) {
  using Size = Sizes<float, kHead>;
  using Mine = Share<Size::kTile>;
  float sums[Mine::kRows][Mine::kColumns] = {};
  for (int k = 0; k < kHead; ++k) {
#pragma unroll
    for (int r = 0; r < Mine::kRows; ++r) {
      const float left = a[(Mine::Row() + r) * Size::kPitch + k];
#pragma unroll
      for (int c = 0; c < Mine::kColumns; ++c) sums[r][c] += left * b[(Mine::Column() + 8 * c) * Size::kPitch + k];
    }
  }
  for (int r = 0; r < Mine::kRows; ++r) {
    for (int c = 0; c < Mine::kColumns; ++c) {
      scores[(Mine::Row() + r) * Size::kScorePitch + Mine::Column() + 8 * c] = sums[r][c];
    }
  }
}

template <int kHead, typename T>
__device__ void Scores(const T* a, const T* b, float* scores) {
  namespace wmma = nvcuda::wmma;
  using Size = Sizes<T, kHead>;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16;
  const auto* left = reinterpret_cast<const Narrow<T>*>(a) + row * Size::kPitch;
  const auto* right = reinterpret_cast<const Narrow<T>*>(b);
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[Size::kTile / 16];
#pragma unroll
  for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
  // With heads of 256 elements an accumulator leaves registers for few steps.
  constexpr int kAtOnce = kHead > 128 ? 2 : kHead / 16;
#pragma unroll kAtOnce
  for (int k = 0; k < kHead; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, Narrow<T>, wmma::row_major> left_part;
    wmma::load_matrix_sync(left_part, left + k, Size::kPitch);
#pragma unroll
    for (int c = 0; c < Size::kTile / 16; ++c) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, Narrow<T>, wmma::col_major> right_part;
      wmma::load_matrix_sync(right_part, right + c * 16 * Size::kPitch + k, Size::kPitch);
      wmma::mma_sync(sums[c], left_part, right_part, sums[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < Size::kTile / 16; ++c) {
    wmma::store_matrix_sync(scores + row * Size::kScorePitch + c * 16, sums[c], Size::kScorePitch, wmma::mem_row_major);
  }
}

template <typename T, int kHead>
class Accumulator {
 public:
  __device__ Accumulator() {
#pragma unroll
    for (auto& sum : sums_) nvcuda::wmma::fill_fragment(sum, 0.0f);
  }

  __device__ void Add(const T* weights, const T* tile) {
    namespace wmma = nvcuda::wmma;
    const auto* left = reinterpret_cast<const Narrow<T>*>(weights) + Row() * Size::kWeightPitch;
    const auto* right = reinterpret_cast<const Narrow<T>*>(tile);
    // With heads of 128 elements two accumulators leave registers for one step only.
    constexpr int kAtOnce = kHead > 64 ? 1 : Size::kTile / 16;
#pragma unroll kAtOnce
    for (int k = 0; k < Size::kTile; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, Narrow<T>, wmma::row_major> left_part;
      wmma::load_matrix_sync(left_part, left + k, Size::kWeightPitch);
#pragma unroll
      for (int c = 0; c < kHead / 16; ++c) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Narrow<T>, wmma::row_major> right_part;
        wmma::load_matrix_sync(right_part, right + k * Size::kPitch + c * 16, Size::kPitch);
        wmma::mma_sync(sums_[c], left_part, right_part, sums_[c]);
      }
    }
  }

  // Writes rows [first, rows) of `tensor` [rows, head], through the warp's rows of `scratch`, a tile of scores.
  __device__ void Store(float* scratch, Rows<T> tensor, int64_t first, int64_t rows, int head) const {
    float* const mine = scratch + Row() * Size::kScorePitch;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int c = 0; c < kHead / 16; ++c) {
      nvcuda::wmma::store_matrix_sync(mine, sums_[c], Size::kScorePitch, nvcuda::wmma::mem_row_major);
      __syncwarp();
      for (int i = lane; i < 256; i += 32) {
        const int64_t row = first + Row() + i / 16;
        const int column = c * 16 + i % 16;
        if (row < rows && column < head) tensor.At(row)[column] = T(mine[i / 16 * Size::kScorePitch + i % 16]);
      }
      __syncwarp();
    }
  }

 private:
  using Size = Sizes<T, kHead>;
  __device__ static int Row() { return static_cast<int>(threadIdx.x) / 32 * 16; }
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums_[kHead / 16];
};

template <int kHead>
class Accumulator<float, kHead> {
 public:
  __device__ Accumulator() {
    for (int r = 0; r < Mine::kRows; ++r) {
      for (int c = 0; c < kHead / 8; ++c) sums_[r][c] = 0.0f;
    }
  }

  __device__ void Add(const float* weights, const float* tile) {
    for (int j = 0; j < Size::kTile; ++j) {
#pragma unroll
      for (int r = 0; r < Mine::kRows; ++r) {
        const float weight = weights[(Mine::Row() + r) * Size::kWeightPitch + j];
#pragma unroll
        for (int c = 0; c < kHead / 8; ++c) sums_[r][c] += weight * tile[j * Size::kPitch + Mine::Column() + 8 * c];
      }
    }
  }

  // Writes rows [first, rows) of `tensor` [rows, head]. `scratch` is not needed.
  __device__ void Store(float*, Rows<float> tensor, int64_t first, int64_t rows, int head) const {
    for (int r = 0; r < Mine::kRows; ++r) {
      const int64_t row = first + Mine::Row() + r;
      for (int c = 0; c < kHead / 8; ++c) {
        const int column = Mine::Column() + 8 * c;
        if (row < rows && column < head) tensor.At(row)[column] = sums_[r][c];
      }
    }
  }

 private:
  using Size = Sizes<float, kHead>;
  using Mine = Share<Size::kTile>;
  float sums_[Mine::kRows][kHead / 8];
};

}  // namespace cleave::runtime::attention

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_ATTENTION_TILES_CUH_
