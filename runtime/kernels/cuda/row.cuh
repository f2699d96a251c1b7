// Rows of matrices, as floats, each read by a group of threads, in vectors. Where a row is short enough, the threads
// hold it in registers, so that it is read from memory once.
//
//   WithRowForm(columns, AreAligned(x, y), [=](auto form) {
//     using Form = decltype(form);
//     Launch(DoubleRows<Form>, Form::Shape(rows), x, rows, columns, y);
//   });
//
//   template <typename Form>
//   __global__ void DoubleRows(ConstReals x, int64_t rows, int64_t columns, Reals y) {
//     for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
//       const Row<Form> row(x + r * columns, columns);
//       WriteRow<Form>(columns, y + r * columns, [](int64_t, float value) { return 2.0f * value; }, row);
//     }
//   }
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_ROW_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_ROW_CUH_

#include <algorithm>
#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/kernels/cuda/aligned.cuh"
#include "runtime/kernels/cuda/group.cuh"

namespace cleave::runtime {

constexpr int64_t kMostBlocks = int64_t{1} << 30;

// kGroup threads, a warp or a whole block, take a row. Each thread takes kPack neighbours at a time, at most kHeld
// times. kHeld 0: any number of times, and elements that are needed again are read again.
template <int kGroup, int kPackSize, int kHeldPacks>
struct RowForm {
  static constexpr int kThreads = kGroup;
  static constexpr int kPack = kPackSize;
  static constexpr int kHeld = kHeldPacks;

  static LaunchShape Shape(int64_t rows) {
    constexpr int kBlock = kGroup == kWarp ? 4 * kWarp : kGroup;
    constexpr int kRowsPerBlock = kBlock / kGroup;
    return {std::min((rows + kRowsPerBlock - 1) / kRowsPerBlock, kMostBlocks), kBlock};
  }

  static __device__ int64_t FirstRow() { return FirstElement() / kGroup; }
  static __device__ int64_t RowStride() { return ElementStride() / kGroup; }
  static __device__ int Lane() { return static_cast<int>(threadIdx.x) % kGroup; }
};

// Calls visit(i, column) for each pack of the calling thread: its number and the column of its first element.
template <typename Form, typename Visit>
__device__ inline void ForEachPack(int64_t columns, Visit visit) {
  const int64_t first = Form::Lane() * Form::kPack;
  if constexpr (Form::kHeld > 0) {
#pragma unroll
    for (int i = 0; i < Form::kHeld; ++i) {
      const int64_t column = first + i * Form::kThreads * Form::kPack;
      if (column < columns) visit(i, column);
    }
  } else {
#pragma unroll 4
    for (int64_t column = first; column < columns; column += Form::kThreads * Form::kPack) visit(0, column);
  }
}

// The thread of a row's group that takes the element of this column.
template <typename Form>
__device__ inline int LaneOf(int64_t column) {
  return static_cast<int>(column / Form::kPack % Form::kThreads);
}

// The elements of one row that the calling thread takes. `kHold` false: they are not held, whatever the form.
template <typename Form, bool kHold = (Form::kHeld > 0)>
class Row {
 public:
  using Pack = Vector<float, Form::kPack>;

  __device__ Row(ConstReals row, int64_t columns) : row_(row) {
    if constexpr (kHold) ForEachPack<Form>(columns, [&](int i, int64_t column) { held_[i] = Read(column); });
  }

  // The sum of two rows, which is also written to `sum` if that is not null; `sum` may be one of them.
  __device__ Row(ConstReals row, ConstReals added, float* sum, int64_t columns) : row_(row), added_(added) {
    if (!kHold && sum == nullptr) return;
    ForEachPack<Form>(columns, [&](int i, int64_t column) {
      const Pack both = Read(column);
      if constexpr (kHold) held_[i] = both;
      if (sum != nullptr) Store(both, sum + column);
    });
    if (sum == nullptr) return;
    row_ = sum;  // Each thread reads what it has written.
    added_ = nullptr;
  }

  __device__ Pack At(int i, int64_t column) const {
    if constexpr (kHold) {
      return held_[i];
    } else {
      return Read(column);
    }
  }

 private:
  __device__ Pack Read(int64_t column) const {
    Pack read = LoadReals<Form::kPack>(row_, column);
    if (added_.place() == nullptr) return read;
    const Pack added = LoadReals<Form::kPack>(added_, column);
#pragma unroll
    for (int k = 0; k < Form::kPack; ++k) read[k] += added[k];
    return read;
  }

  ConstReals row_;
  ConstReals added_ = nullptr;
  Pack held_[kHold ? Form::kHeld : 1];
};

// Calls visit(column, the elements of `rows` there) for each element of the calling thread.
template <typename Form, typename Visit, typename... Rows>
__device__ inline void ForEachElement(int64_t columns, Visit visit, const Rows&... rows) {
  const auto visit_pack = [&](int64_t column, const auto&... packs) {
#pragma unroll
    for (int k = 0; k < Form::kPack; ++k) visit(column + k, packs[k]...);
  };
  ForEachPack<Form>(columns,
                    [&]([[maybe_unused]] int i, int64_t column) { visit_pack(column, rows.At(i, column)...); });
}

// to[column] = function(column, the elements of `rows` there).
template <typename Form, typename Function, typename... Rows>
__device__ inline void WriteRow(int64_t columns, Reals to, Function function, const Rows&... rows) {
  const auto write_pack = [&](int64_t column, const auto&... packs) {
    Vector<float, Form::kPack> results;
#pragma unroll
    for (int k = 0; k < Form::kPack; ++k) results[k] = function(column + k, packs[k]...);
    StoreReals(results, to, column);
  };
  ForEachPack<Form>(columns,
                    [&]([[maybe_unused]] int i, int64_t column) { write_pack(column, rows.At(i, column)...); });
}

// The sum of exponentials of a row. Every thread of its group gets it.
template <typename Form>
__device__ inline ExpSum RowExpSum(const Row<Form>& row, int64_t columns) {
  ExpSum own = ExpSum::None();
  if constexpr (Form::kHeld > 0) {
    ForEachElement<Form>(
        columns, [&](int64_t, float x) { own.largest = fmaxf(own.largest, x); }, row);
    own.largest = GroupReduce<Form::kThreads>(own.largest, Max());
    ForEachElement<Form>(
        columns, [&](int64_t, float x) { own.sum += Exp(x - own.largest); }, row);
    own.sum = GroupReduce<Form::kThreads>(own.sum, Sum());
    return own;
  } else {
    ForEachElement<Form>(
        columns, [&](int64_t, float x) { own.Add(x); }, row);
    return GroupReduce<Form::kThreads>(own, AddExpSums());
  }
}

// Calls start(form) with the form for rows of `columns` elements. `aligned`: whether the rows' tensors begin at places
// for vectors.
template <typename Start>
void WithRowForm(int64_t columns, bool aligned, Start start) {
  const bool vectors = aligned && columns % 4 == 0;
  if (vectors && columns <= 256) return start(RowForm<kWarp, 4, 2>());
  if (vectors && columns <= 1024) return start(RowForm<kWarp, 4, 8>());
  if (vectors && columns <= 4096) return start(RowForm<256, 4, 4>());
  if (vectors) return start(RowForm<512, 4, 0>());
  if (columns <= 256) return start(RowForm<kWarp, 1, 8>());
  start(RowForm<256, 1, 0>());
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_ROW_CUH_
