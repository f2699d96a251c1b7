// Finds the first ranked elements of lines.
//
// A group of threads, a warp or a block, works on a line: each thread finds the first of its own elements, and the
// group the first of those. The k first are found one after the other, each as the first of those that rank behind the
// last one. So the line is read k times, which is acceptable for the small k of models, and no memory is needed.
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/memory.h"
#include "runtime/device/portable.h"
#include "runtime/kernels/cuda/group.cuh"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/ranking.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// An element: equal values are ranked by their keys, equal keys by their positions.
struct Ranked {
  float value;
  int key;
  int position;  // kNoIndex: there is no element; it ranks behind all others.
};

__device__ inline bool IsAhead(const Ranked& a, const Ranked& b) {
  if (a.position == kNoIndex || b.position == kNoIndex) return a.position < b.position;
  if (RanksBefore(a.value, b.value)) return true;
  if (RanksBefore(b.value, a.value)) return false;
  return a.key < b.key || (a.key == b.key && a.position < b.position);
}

__device__ inline Ranked NoElement() { return {0.0f, kNoIndex, kNoIndex}; }

struct FirstRanked {
  __device__ Ranked operator()(const Ranked& a, const Ranked& b) const { return IsAhead(b, a) ? b : a; }
};

// GroupReduce finds this function.
__device__ inline Ranked OfLane(const Ranked& value, int lanes) {
  return {__shfl_xor_sync(kAllLanes, value.value, lanes), __shfl_xor_sync(kAllLanes, value.key, lanes),
          __shfl_xor_sync(kAllLanes, value.position, lanes)};
}

// `length` elements of a line, `stride` apart; where no keys are given, positions are the keys.
struct Line {
  const float* values;
  const int32_t* keys;
  int64_t length;
  int64_t stride;

  __device__ Ranked At(int64_t i) const {
    return {values[i * stride], keys == nullptr ? static_cast<int>(i) : keys[i * stride], static_cast<int>(i)};
  }
};

// The first ranked of the elements, of those behind `last` where `is_behind`. REQUIRES: all kThreads threads of the
// group call it.
template <int kThreads>
__device__ Ranked First(const Line& line, bool is_behind = false, Ranked last = NoElement()) {
  Ranked first = NoElement();
  for (int64_t i = threadIdx.x % kThreads; i < line.length; i += kThreads) {
    const Ranked element = line.At(i);
    if ((!is_behind || IsAhead(last, element)) && IsAhead(element, first)) first = element;
  }
  return GroupReduce<kThreads>(first, FirstRanked());
}

// [outer, length, inner] around a dimension; a line for each outer and inner index.
struct AxisView {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  AxisView(const std::vector<int64_t>& shape, int axis) {
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      (d < axis ? outer : d == axis ? length : inner) *= shape[static_cast<size_t>(d)];
    }
  }

  int64_t lines() const { return outer * inner; }
  CLEAVE_PORTABLE int64_t FirstOf(int64_t line) const { return line / inner * length * inner + line % inner; }
};

// The threads of a warp should read neighbouring elements. With at least this many lines side by side, each thread
// takes one line; with fewer, the warp takes one line after the other.
constexpr int64_t kFewNeighbors = 8;

constexpr int kLinesPerBlock = kThreadsPerBlock / kWarp;
LaunchShape WarpForEach(int64_t lines) {
  return {std::min<int64_t>((lines + kLinesPerBlock - 1) / kLinesPerBlock, int64_t{32} * Multiprocessors()),
          kThreadsPerBlock};
}
// The first line of a warp, and how far apart its lines are.
__device__ inline int64_t LineOfWarp() { return FirstElement() / kWarp; }
__device__ inline int64_t WarpStride() { return ElementStride() / kWarp; }

__global__ void ArgMaxByThread(const float* x, AxisView view, int64_t lines, int32_t* index) {
  for (int64_t n = FirstElement(); n < lines; n += ElementStride()) {
    const float* const line = x + view.FirstOf(n);
    int64_t best = 0;
    for (int64_t i = 1; i < view.length; ++i) {
      if (RanksBefore(line[i * view.inner], line[best * view.inner])) best = i;
    }
    index[n] = static_cast<int32_t>(best);
  }
}

__global__ void ArgMaxByWarp(const float* x, AxisView view, int64_t lines, int32_t* index) {
  for (int64_t n = LineOfWarp(); n < lines; n += WarpStride()) {
    const Line line = {x + view.FirstOf(n), nullptr, view.length, view.inner};
    const Ranked first = First<kWarp>(line);
    if (threadIdx.x % kWarp == 0) index[n] = view.length == 0 ? 0 : first.position;
  }
}

__global__ void FirstEqualByThread(const float* x, const float* value, AxisView view, int64_t lines, int64_t first,
                                   int32_t* index) {
  for (int64_t n = FirstElement(); n < lines; n += ElementStride()) {
    const float* const line = x + view.FirstOf(n);
    const float wanted = value[n];
    int64_t i = 0;
    while (i < view.length && !RankAlike(line[i * view.inner], wanted)) ++i;
    index[n] = i < view.length ? static_cast<int32_t>(first + i) : kNoIndex;
  }
}

struct Smaller {
  __device__ int operator()(int a, int b) const { return b < a ? b : a; }
};

__global__ void FirstEqualByWarp(const float* x, const float* value, AxisView view, int64_t lines, int64_t first,
                                 int32_t* index) {
  for (int64_t n = LineOfWarp(); n < lines; n += WarpStride()) {
    const float* const line = x + view.FirstOf(n);
    const float wanted = value[n];
    int found = kNoIndex;
    for (int64_t i = threadIdx.x % kWarp; i < view.length && found == kNoIndex; i += kWarp) {
      if (RankAlike(line[i * view.inner], wanted)) found = static_cast<int>(first + i);
    }
    found = GroupReduce<kWarp>(found, Smaller());
    if (threadIdx.x % kWarp == 0) index[n] = found;
  }
}

// What is written of the element in a slot: its value, or its key counted from `first_key`.
struct Slots {
  int64_t k;
  float* values;     // Or null.
  int32_t* indices;  // Or null.
  float filling = -std::numeric_limits<float>::infinity();

  __device__ void Write(int64_t slot, const Ranked& element, int64_t first_key) const {
    const bool is_element = element.position != kNoIndex;
    if (values != nullptr) values[slot] = is_element ? element.value : filling;
    if (indices != nullptr) indices[slot] = is_element ? static_cast<int32_t>(first_key + element.key) : kNoIndex;
  }
};

// Writes the k first elements of a line into the slots from slot `begin` on. A block calls it.
__device__ inline void RankLine(const Line& line, const Slots& slots, int64_t begin, int64_t first_key) {
  Ranked last = NoElement();
  for (int64_t slot = 0; slot < slots.k; ++slot) {
    const bool none_is_left = slot > 0 && last.position == kNoIndex;
    if (!none_is_left) last = First<kThreadsPerBlock>(line, slot > 0, last);
    if (threadIdx.x == 0) slots.Write(begin + slot, last, first_key);
  }
}

// A block for each line of [rows, columns].
__global__ void RankRows(const float* values, const int32_t* keys, int64_t rows, int64_t columns, Slots slots) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t at = row * columns;
    RankLine({values + at, keys == nullptr ? nullptr : keys + at, columns, 1}, slots, row * slots.k, 0);
  }
}

// A block for each piece of each row.
__global__ void RankPieces(const float* values, int64_t rows, int64_t columns, PiecesOfRow pieces, Slots slots) {
  const auto begin = [=](int64_t piece) {  // Computed as in runtime/mesh.
    return piece * (pieces.elements / pieces.pieces) + piece * (pieces.elements % pieces.pieces) / pieces.pieces;
  };
  for (int64_t n = blockIdx.x; n < rows * pieces.count; n += gridDim.x) {
    const int64_t piece = pieces.first + n % pieces.count;
    const float* const from = values + n / pieces.count * columns + begin(piece) - begin(pieces.first);
    RankLine({from, nullptr, begin(piece + 1) - begin(piece), 1}, slots, n * slots.k, begin(piece));
  }
}

LaunchShape BlockForEach(int64_t lines) {
  return {std::min<int64_t>(lines, int64_t{32} * Multiprocessors()), kThreadsPerBlock};
}

void LaunchRankPieces(const float* x, int64_t rows, const PiecesOfRow& pieces, const Slots& slots) {
  if (pieces.count == 0) return;
  const int64_t first = Piece(pieces.elements, pieces.pieces, pieces.first).begin;
  const Range last = Piece(pieces.elements, pieces.pieces, pieces.first + pieces.count - 1);
  const int64_t columns = last.begin + last.size - first;
  Launch(RankPieces, BlockForEach(rows * pieces.count), x, rows, columns, pieces, slots);
}

// A thread takes a row: two gradients may belong to one element.
__global__ void AddAtIndices(const float* dy, const int32_t* indices, int64_t rows, int64_t k, int64_t first,
                             int64_t columns, float* dx) {
  for (int64_t row = FirstElement(); row < rows; row += ElementStride()) {
    for (int64_t i = row * k; i < (row + 1) * k; ++i) {
      const int64_t at = indices[i] - first;
      if (at >= 0 && at < columns) dx[row * columns + at] += dy[i];
    }
  }
}

}  // namespace

void ArgMax(const float* x, const std::vector<int64_t>& shape, int axis, int32_t* index) {
  const AxisView view(shape, axis);
  if (view.inner < kFewNeighbors) {
    Launch(ArgMaxByWarp, WarpForEach(view.lines()), x, view, view.lines(), index);
  } else {
    Launch(ArgMaxByThread, ForElements(view.lines()), x, view, view.lines(), index);
  }
}

void FirstEqual(const float* x, const float* value, const std::vector<int64_t>& shape, int axis, int64_t first,
                int32_t* index) {
  const AxisView view(shape, axis);
  if (view.inner < kFewNeighbors) {
    Launch(FirstEqualByWarp, WarpForEach(view.lines()), x, value, view, view.lines(), first, index);
  } else {
    Launch(FirstEqualByThread, ForElements(view.lines()), x, value, view, view.lines(), first, index);
  }
}

void TopK(const float* x, int64_t rows, int64_t columns, int64_t k, float* y) {
  Launch(RankRows, BlockForEach(rows), x, nullptr, rows, columns, Slots{k, y, nullptr});
}

void TopKIndices(const float* x, int64_t rows, int64_t columns, int64_t k, int32_t* indices) {
  Launch(RankRows, BlockForEach(rows), x, nullptr, rows, columns, Slots{k, nullptr, indices});
}

void TopKCandidates(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, float* y) {
  LaunchRankPieces(x, rows, pieces, {k, y, nullptr});
}

void TopKCandidateIndices(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, int32_t* indices) {
  LaunchRankPieces(x, rows, pieces, {k, nullptr, indices});
}

void TopKMerge(const float* values, const int32_t* indices, int64_t rows, int64_t columns, int64_t k, int32_t* first) {
  Launch(RankRows, BlockForEach(rows), values, indices, rows, columns, Slots{k, nullptr, first});
}

void TopKGradient(const float* dy, const int32_t* indices, int64_t rows, int64_t k, int64_t first, int64_t columns,
                  float* dx) {
  ZeroBytes(dx, rows * columns * static_cast<int64_t>(sizeof *dx));
  Launch(AddAtIndices, ForElements(rows), dy, indices, rows, k, first, columns, dx);
}

}  // namespace cleave::runtime
