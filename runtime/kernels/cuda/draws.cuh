// Random numbers for the elements of a rank's piece of a tensor. One thread makes the elements of one Philox block that
// lie in one row: up to four neighbours.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_DRAWS_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_DRAWS_CUH_

#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/portable.h"
#include "runtime/kernels/cuda/aligned.cuh"
#include "runtime/mesh/mesh.h"
#include "runtime/random/random.h"

namespace cleave::runtime {

// A piece as rows of elements that are neighbours in the whole tensor. Dimensions of which a rank holds all are joined
// with the one before.
struct PieceRows {
  static constexpr int kMostDimensions = 8;

  int rank = 0;  // Dimensions before the rows' own, the last one first.
  int64_t size[kMostDimensions] = {};
  int64_t begin[kMostDimensions] = {};
  int64_t stride[kMostDimensions] = {};  // In the whole tensor.
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t first_column = 0;  // The column of a row's first element in the row of the whole tensor.

  // The whole tensor's index of the row's first element.
  __device__ int64_t RowBegin(int64_t row) const {
    int64_t global = first_column;
    for (int d = 0; d < rank; ++d) {
      global += (begin[d] + row % size[d]) * stride[d];
      row /= size[d];
    }
    return global;
  }

  // The most blocks that have elements in one row.
  CLEAVE_PORTABLE int64_t BlocksPerRow() const { return (columns + 6) / 4; }
};

// Ends the program for a piece of a tensor that is cut in more than kMostDimensions dimensions before its last.
PieceRows RowsOfPiece(const Region& piece);

// The elements of one block that lie in one row: lanes [first, end) of it. `at` is the place of lane 0 in the tensor;
// outside of those lanes nothing is read or written.
struct BlockLanes {
  int first;
  int end;

  // Whether they are a vector of the tensor. nvcc moves one at once where its number is the index.
  __device__ bool AreVector(const float* tensor, int64_t at) const {
    return first == 0 && end == 4 && at % 4 == 0 && reinterpret_cast<uintptr_t>(tensor) % kVectorBytes == 0;
  }
  __device__ Vector<float, 4> Read(const float* tensor, int64_t at) const {
    if (AreVector(tensor, at)) return Load<4>(tensor + at);
    Vector<float, 4> values = {};
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      if (lane >= first && lane < end) values[lane] = tensor[at + lane];
    }
    return values;
  }
  __device__ void Write(const Vector<float, 4>& values, float* tensor, int64_t at) const {
    if (AreVector(tensor, at)) {
      reinterpret_cast<float4*>(tensor)[at / 4] = make_float4(values[0], values[1], values[2], values[3]);
      return;
    }
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      if (lane >= first && lane < end) tensor[at + lane] = values[lane];
    }
  }
};

// to[i] = function(block, lane, step, x[i]) for each element i of the piece, with the block and the lane that it draws.
// Where x is null, x[i] is 0.
template <typename Function>
__global__ void DrawElements(PieceRows piece, PhiloxKey key, Scalar<uint64_t> step, Function function, const float* x,
                             float* to) {
  const uint64_t at_step = step.Get();
  const int64_t blocks = piece.BlocksPerRow();
  for (int64_t i = FirstElement(); i < piece.rows * blocks; i += ElementStride()) {
    const int64_t row = piece.rows == 1 ? 0 : i / blocks;
    const int64_t begin = piece.RowBegin(row);
    const int64_t block = begin / 4 + (i - row * blocks);
    const int64_t before = begin - block * 4;  // Lanes of the block that lie before the row.
    const BlockLanes lanes = {static_cast<int>(max(before, int64_t{0})),
                              static_cast<int>(min(before + piece.columns, int64_t{4}))};
    if (lanes.first >= lanes.end) continue;
    const PhiloxBlock draws = PhiloxAt(key, static_cast<uint64_t>(block), at_step);
    const int64_t at = row * piece.columns - before;
    Vector<float, 4> values = {};
    if (x != nullptr) values = lanes.Read(x, at);
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      values[lane] = function(draws, static_cast<size_t>(lane), at_step, values[lane]);
    }
    lanes.Write(values, to, at);
  }
}

template <typename Function>
void Draw(const Stream& stream, const Region& piece, const Function& function, const float* x, float* to) {
  if (ElementCount(piece.size) == 0) return;
  const PieceRows rows = RowsOfPiece(piece);
  Launch(DrawElements<Function>, ForElements(rows.rows * rows.BlocksPerRow()), rows, StreamKey(stream), stream.step,
         function, x, to);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_DRAWS_CUH_
