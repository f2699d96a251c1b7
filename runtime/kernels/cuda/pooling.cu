// Pooling: a thread for each place of the result, and for each element of a gradient. A gradient's places are added in
// one order: row by row, and in a row from the last place that sees the element to the first.
#include <algorithm>
#include <limits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/slide.cuh"
#include "runtime/device/portable.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/pooling.h"

namespace cleave::runtime {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// A plane's element in memory: the first one, and how far its places are apart.
struct Plane {
  int64_t begin;
  int64_t step;

  CLEAVE_PORTABLE int64_t At(int64_t place) const { return begin + place * step; }
};

// How the planes of images, or of what is pooled, lie: `size` places each, one behind another, or with those of
// `channels` planes side by side.
struct PlaneOrder {
  int64_t size;
  int64_t channels;  // At least 1.

  // Element `n` of memory, as its place in a plane; the plane, in memory.
  CLEAVE_PORTABLE int64_t PlaceOf(int64_t n) const { return n / channels % size; }
  CLEAVE_PORTABLE int64_t PlaneOf(int64_t n) const { return n / channels / size * channels + n % channels; }
  CLEAVE_PORTABLE Plane Of(int64_t plane) const {
    return {plane / channels * channels * size + plane % channels, channels};
  }
};

struct Planes {
  int64_t count;
  Slide rows;
  Slide columns;
  PlaneOrder inputs;
  PlaneOrder outputs;

  Planes(int64_t planes, const Sliding& along_rows, const Sliding& along_columns, const ImageBlocks& blocks)
      : count(planes),
        rows(along_rows),
        columns(along_columns),
        inputs{rows.input * columns.input, std::max<int64_t>(blocks.x, 1)},
        outputs{rows.output * columns.output, std::max<int64_t>(blocks.y, 1)} {}
};

// Calls f(element, tap) for the elements of a plane that the kernel sees at a place, row by row.
template <typename Function>
__device__ void ForEachElement(const Planes& planes, const float* x, const Plane& plane, int64_t place, Function f) {
  const int64_t i = place / planes.columns.output;
  const int64_t j = place % planes.columns.output;
  for (int64_t row = planes.rows.TapsBegin(i); row < planes.rows.TapsEnd(i); ++row) {
    const int64_t line = (planes.rows.At(i) + row) * planes.columns.input + planes.columns.At(j);
    for (int64_t column = planes.columns.TapsBegin(j); column < planes.columns.TapsEnd(j); ++column) {
      f(x[plane.At(line + column)], static_cast<int32_t>(row * planes.columns.kernel + column));
    }
  }
}

// Calls f(place, tap) for the places of a plane that see an element.
template <typename Function>
__device__ void ForEachPlace(const Planes& planes, int64_t element, Function f) {
  const int64_t row = element / planes.columns.input;
  const int64_t column = element % planes.columns.input;
  for (int64_t i = planes.rows.PlacesBegin(row); i < planes.rows.PlacesEnd(row); ++i) {
    const int64_t row_tap = row - planes.rows.At(i);
    for (int64_t j = planes.columns.PlacesEnd(column) - 1; j >= planes.columns.PlacesBegin(column); --j) {
      f(i * planes.columns.output + j,
        static_cast<int32_t>(row_tap * planes.columns.kernel + column - planes.columns.At(j)));
    }
  }
}

// The largest element that each place sees, where it is wanted, and the first tap that sees it.
__global__ void FindLargest(const float* x, Planes planes, float* y, int32_t* index) {
  for (int64_t n = FirstElement(); n < planes.count * planes.outputs.size; n += ElementStride()) {
    const Plane plane = planes.inputs.Of(planes.outputs.PlaneOf(n));
    float largest = kLeast;
    int32_t best = 0;
    ForEachElement(planes, x, plane, planes.outputs.PlaceOf(n), [&](float value, int32_t tap) {
      const bool larger = RanksBefore(value, largest);
      largest = larger ? value : largest;
      best = larger ? tap : best;
    });
    if (y != nullptr) y[n] = largest;
    if (index != nullptr) index[n] = best;
  }
}

__global__ void FindMeans(const float* x, Planes planes, float part, float* y) {
  for (int64_t n = FirstElement(); n < planes.count * planes.outputs.size; n += ElementStride()) {
    const Plane plane = planes.inputs.Of(planes.outputs.PlaneOf(n));
    float sum = 0.0f;
    ForEachElement(planes, x, plane, planes.outputs.PlaceOf(n), [&](float value, int32_t) { sum += value; });
    y[n] = sum * part;
  }
}

__global__ void CollectFromLargest(const float* dy, const int32_t* index, Planes planes, float* dx) {
  for (int64_t n = FirstElement(); n < planes.count * planes.inputs.size; n += ElementStride()) {
    const Plane plane = planes.outputs.Of(planes.inputs.PlaneOf(n));
    float sum = 0.0f;
    ForEachPlace(planes, planes.inputs.PlaceOf(n), [&](int64_t place, int32_t tap) {
      sum += index[plane.At(place)] == tap ? dy[plane.At(place)] : 0.0f;
    });
    dx[n] = sum;
  }
}

__global__ void CollectFromMeans(const float* dy, Planes planes, float part, float* dx) {
  for (int64_t n = FirstElement(); n < planes.count * planes.inputs.size; n += ElementStride()) {
    const Plane plane = planes.outputs.Of(planes.inputs.PlaneOf(n));
    float sum = 0.0f;
    ForEachPlace(planes, planes.inputs.PlaceOf(n), [&](int64_t place, int32_t) { sum += dy[plane.At(place)] * part; });
    dx[n] = sum;
  }
}

float PartOfOne(const Sliding& rows, const Sliding& columns) {
  return 1.0f / static_cast<float>(rows.kernel * columns.kernel);
}

}  // namespace

void MaxPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks& blocks) {
  const Planes all(planes, rows, columns, blocks);
  Launch(FindLargest, ForElements(planes * all.outputs.size), x, all, y, nullptr);
}

void MaxPoolIndex(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, int32_t* index,
                  const ImageBlocks& blocks) {
  const Planes all(planes, rows, columns, blocks);
  Launch(FindLargest, ForElements(planes * all.outputs.size), x, all, nullptr, index);
}

void MaxPoolGradient(const float* dy, const int32_t* index, int64_t planes, const Sliding& rows, const Sliding& columns,
                     float* dx, const ImageBlocks& blocks) {
  const Planes all(planes, rows, columns, blocks);
  Launch(CollectFromLargest, ForElements(planes * all.inputs.size), dy, index, all, dx);
}

void AvgPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks& blocks) {
  const Planes all(planes, rows, columns, blocks);
  Launch(FindMeans, ForElements(planes * all.outputs.size), x, all, PartOfOne(rows, columns), y);
}

void AvgPoolGradient(const float* dy, int64_t planes, const Sliding& rows, const Sliding& columns, float* dx,
                     const ImageBlocks& blocks) {
  const Planes all(planes, rows, columns, blocks);
  Launch(CollectFromMeans, ForElements(planes * all.inputs.size), dy, all, PartOfOne(rows, columns), dx);
}

}  // namespace cleave::runtime
