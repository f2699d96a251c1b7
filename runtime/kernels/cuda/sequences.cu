#include <algorithm>
#include <cmath>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/portable.h"
#include "runtime/kernels/cuda/group.cuh"
#include "runtime/kernels/sequences.h"

namespace cleave::runtime {
namespace {

// A tensor as [outer, length, inner], `length` that of one dimension.
struct Lines {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  Lines(const std::vector<int64_t>& shape, int axis) {
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      (d < axis ? outer : d == axis ? length : inner) *= shape[static_cast<size_t>(d)];
    }
  }

  int64_t elements() const { return outer * length * inner; }
  // Where line `n` of outer * inner lines has its first element.
  CLEAVE_PORTABLE int64_t FirstOf(int64_t n) const { return n / inner * length * inner + n % inner; }
};

// The direction: from the first element on, or from the last one backwards.
struct Way {
  int64_t first;
  int64_t step;
};

// Neighbouring threads take neighbouring lines.
__global__ void SumByThread(const float* x, Lines lines, Way way, float* y) {
  for (int64_t n = FirstElement(); n < lines.outer * lines.inner; n += ElementStride()) {
    int64_t at = lines.FirstOf(n) + way.first * lines.inner;
    float sum = 0.0f;
    for (int64_t i = 0; i < lines.length; ++i, at += way.step * lines.inner) {
      sum += x[at];
      y[at] = sum;
    }
  }
}

// The sum of the values of the warp's lanes up to the calling one. Hillis and Steele: Data parallel algorithms (1986).
__device__ inline float SumUpToLane(float value) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const float before = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(distance));
    if (lane >= distance) value += before;
  }
  return value;
}

// A warp takes a line, 32 elements at a time.
__global__ void SumByWarp(const float* x, Lines lines, Way way, float* y) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t n = FirstElement() / kWarp; n < lines.outer * lines.inner; n += ElementStride() / kWarp) {
    const int64_t first = lines.FirstOf(n) + way.first * lines.inner;
    float sum = 0.0f;  // The sum of all elements before.
    for (int64_t begin = 0; begin < lines.length; begin += kWarp) {
      const int64_t i = begin + lane;
      const int64_t at = first + i * way.step * lines.inner;
      const float up_to = sum + SumUpToLane(i < lines.length ? x[at] : 0.0f);
      if (i < lines.length) y[at] = up_to;
      sum = __shfl_sync(kAllLanes, up_to, kWarp - 1);
    }
  }
}

void RunningSum(const float* x, const Lines& lines, const Way& way, float* y) {
  if (lines.elements() == 0) return;
  const int64_t count = lines.outer * lines.inner;
  constexpr int64_t kFewNeighbors =
      8;  // With fewer lines, the threads of a warp would read elements that lie far apart.
  if (lines.inner < kFewNeighbors && lines.length >= kWarp) {
    Launch(SumByWarp, ForElements(count * kWarp), x, lines, way, y);
  } else {
    Launch(SumByThread, ForElements(count), x, lines, way, y);
  }
}

// A warp takes a row, 32 elements at a time, in the direction of `way`. A run begins, or ends if the way is backwards,
// at the last element up to the lane's own that differs from the one before it. `behind`: added to its number.
__global__ void RunsByWarp(const int32_t* x, int64_t rows, int64_t length, Way way, int64_t behind, int32_t* y) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t row = FirstElement() / kWarp; row < rows; row += ElementStride() / kWarp) {
    int64_t found = way.first;  // Of the elements before.
    for (int64_t begin = 0; begin < length; begin += kWarp) {
      const int64_t number = begin + lane;
      const int64_t at = way.first + number * way.step;
      const int32_t* const mine = x + row * length + at;
      const bool starts = number < length && (number == 0 || *mine != *(mine - way.step));
      const unsigned up_to_mine = __ballot_sync(kAllLanes, starts) & (kAllLanes >> (kWarp - 1 - lane));
      if (up_to_mine != 0) found = way.first + (begin + kWarp - 1 - __clz(static_cast<int>(up_to_mine))) * way.step;
      if (number < length) y[row * length + at] = static_cast<int32_t>(found + behind);
      found = __shfl_sync(kAllLanes, found, kWarp - 1);
    }
  }
}

void FindRuns(const int32_t* x, int64_t rows, int64_t length, bool ends, int32_t* y) {
  const Way way = ends ? Way{length - 1, -1} : Way{0, 1};
  Launch(RunsByWarp, ForElements(rows * kWarp), x, rows, length, way, int64_t{ends ? 1 : 0}, y);
}

// Each thread turns one point of the plane, of one head at one position; `heads` heads lie side by side.
__global__ void Rotate(ConstReals x, Lines lines, Rotation rotation, int64_t head, Reals y) {
  const int64_t half = head / 2;
  const int64_t points = lines.outer * lines.length * half;
  for (int64_t n = FirstElement(); n < points; n += ElementStride()) {
    const int64_t i = n % half;
    const int64_t row = n / half;
    const int64_t place = row % lines.length;
    const int64_t sample = row / lines.length / (lines.outer / rotation.batch);
    const int64_t position = rotation.positions != nullptr ? rotation.positions[sample * lines.length + place]
                                                           : rotation.first_position + rotation.zigzag.PlaceOf(place);
    const double angle =
        static_cast<double>(position) * pow(rotation.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head));
    const float c = static_cast<float>(cos(angle));
    const float s = static_cast<float>(rotation.inverse ? -sin(angle) : sin(angle));
    const int64_t end = (row + 1) * lines.inner;
    for (int64_t at = row * lines.inner + i; at < end; at += head) {
      const float a = x[at];
      const float b = x[at + half];
      y.Set(at, a * c - b * s);
      y.Set(at + half, b * c + a * s);
    }
  }
}

}  // namespace

void RunBegins(const int32_t* x, int64_t rows, int64_t length, int32_t* y) { FindRuns(x, rows, length, false, y); }

void RunEnds(const int32_t* x, int64_t rows, int64_t length, int32_t* y) { FindRuns(x, rows, length, true, y); }

void Cumsum(const float* x, const std::vector<int64_t>& shape, int axis, float* y) {
  RunningSum(x, Lines(shape, axis), {0, 1}, y);
}

void ReverseCumsum(const float* x, const std::vector<int64_t>& shape, int axis, float* y) {
  const Lines lines(shape, axis);
  RunningSum(x, lines, {lines.length - 1, -1}, y);
}

void Rope(ConstReals x, const std::vector<int64_t>& shape, const Rotation& rotation, Reals y) {
  const Lines lines(shape, rotation.axis);
  if (lines.elements() == 0) return;
  const int64_t points = lines.outer * lines.length * (shape.back() / 2);
  Launch(Rotate, ForElements(points), x, lines, rotation, shape.back(), y);
}

}  // namespace cleave::runtime
