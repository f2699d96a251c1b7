// Pooling: a thread for each place of the result, and for each element of a gradient. A gradient's places are added in
// one order: row by row, and in a row from the last place that sees the element to the first.
#include <limits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/slide.cuh"
#include "runtime/device/portable.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/pooling.h"

namespace cleave::runtime {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

struct Planes {
  int64_t count;
  Slide rows;
  Slide columns;

  CLEAVE_PORTABLE int64_t inputs() const { return rows.input * columns.input; }
  CLEAVE_PORTABLE int64_t outputs() const { return rows.output * columns.output; }
};

// Calls f(element, tap) for the elements of plane `x` that the kernel sees at a place, row by row.
template <typename Function>
__device__ void ForEachElement(const Planes& planes, const float* x, int64_t place, Function f) {
  const int64_t i = place / planes.columns.output;
  const int64_t j = place % planes.columns.output;
  for (int64_t row = planes.rows.TapsBegin(i); row < planes.rows.TapsEnd(i); ++row) {
    const float* const line = x + (planes.rows.At(i) + row) * planes.columns.input + planes.columns.At(j);
    for (int64_t column = planes.columns.TapsBegin(j); column < planes.columns.TapsEnd(j); ++column) {
      f(line[column], static_cast<int32_t>(row * planes.columns.kernel + column));
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
  const int64_t outputs = planes.outputs();
  for (int64_t n = FirstElement(); n < planes.count * outputs; n += ElementStride()) {
    float largest = kLeast;
    int32_t best = 0;
    ForEachElement(planes, x + n / outputs * planes.inputs(), n % outputs, [&](float value, int32_t tap) {
      const bool larger = RanksBefore(value, largest);
      largest = larger ? value : largest;
      best = larger ? tap : best;
    });
    if (y != nullptr) y[n] = largest;
    if (index != nullptr) index[n] = best;
  }
}

__global__ void FindMeans(const float* x, Planes planes, float part, float* y) {
  const int64_t outputs = planes.outputs();
  for (int64_t n = FirstElement(); n < planes.count * outputs; n += ElementStride()) {
    float sum = 0.0f;
    ForEachElement(planes, x + n / outputs * planes.inputs(), n % outputs, [&](float value, int32_t) { sum += value; });
    y[n] = sum * part;
  }
}

__global__ void CollectFromLargest(const float* dy, const int32_t* index, Planes planes, float* dx) {
  const int64_t inputs = planes.inputs();
  for (int64_t n = FirstElement(); n < planes.count * inputs; n += ElementStride()) {
    const int64_t begin = n / inputs * planes.outputs();
    float sum = 0.0f;
    ForEachPlace(planes, n % inputs,
                 [&](int64_t place, int32_t tap) { sum += index[begin + place] == tap ? dy[begin + place] : 0.0f; });
    dx[n] = sum;
  }
}

__global__ void CollectFromMeans(const float* dy, Planes planes, float part, float* dx) {
  const int64_t inputs = planes.inputs();
  for (int64_t n = FirstElement(); n < planes.count * inputs; n += ElementStride()) {
    const float* const from = dy + n / inputs * planes.outputs();
    float sum = 0.0f;
    ForEachPlace(planes, n % inputs, [&](int64_t place, int32_t) { sum += from[place] * part; });
    dx[n] = sum;
  }
}

float PartOfOne(const Sliding& rows, const Sliding& columns) {
  return 1.0f / static_cast<float>(rows.kernel * columns.kernel);
}

}  // namespace

void MaxPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks&) {
  const Planes all = {planes, Slide(rows), Slide(columns)};
  Launch(FindLargest, ForElements(planes * all.outputs()), x, all, y, nullptr);
}

void MaxPoolIndex(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, int32_t* index,
                  const ImageBlocks&) {
  const Planes all = {planes, Slide(rows), Slide(columns)};
  Launch(FindLargest, ForElements(planes * all.outputs()), x, all, nullptr, index);
}

void MaxPoolGradient(const float* dy, const int32_t* index, int64_t planes, const Sliding& rows, const Sliding& columns,
                     float* dx, const ImageBlocks&) {
  const Planes all = {planes, Slide(rows), Slide(columns)};
  Launch(CollectFromLargest, ForElements(planes * all.inputs()), dy, index, all, dx);
}

void AvgPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks&) {
  const Planes all = {planes, Slide(rows), Slide(columns)};
  Launch(FindMeans, ForElements(planes * all.outputs()), x, all, PartOfOne(rows, columns), y);
}

void AvgPoolGradient(const float* dy, int64_t planes, const Sliding& rows, const Sliding& columns, float* dx,
                     const ImageBlocks&) {
  const Planes all = {planes, Slide(rows), Slide(columns)};
  Launch(CollectFromMeans, ForElements(planes * all.inputs()), dy, all, PartOfOne(rows, columns), dx);
}

}  // namespace cleave::runtime
