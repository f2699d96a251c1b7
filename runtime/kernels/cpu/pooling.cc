// The outer loops run over taps and the innermost one over a row's places: then every step of a row does the same,
// without checks for padding.
#include "runtime/kernels/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

int64_t InputSize(const Sliding& rows, const Sliding& columns) { return rows.input.size * columns.input.size; }
int64_t OutputSize(const Sliding& rows, const Sliding& columns) { return rows.output.size * columns.output.size; }

bool IsWorthThreads(int64_t planes, const Sliding& rows, const Sliding& columns) {
  return planes * (InputSize(rows, columns) + OutputSize(rows, columns)) >= kParallelElements;
}

// Calls f(place, element) for the places of a row at which `tap` sees an element.
template <typename Function>
void ForEachPlace(const Sliding& columns, int64_t tap, Function f) {
  const Range places = columns.PlacesOf(tap);
  const int64_t end = places.begin + places.size;
  const int64_t at = columns.At(0, tap);
  const auto visit = [&](int64_t stride) {
    for (int64_t j = places.begin; j < end; ++j) f(j, at + j * stride);
  };
  // Strides that are constants here become vector instructions.
  if (columns.stride == 1) {
    visit(1);
  } else if (columns.stride == 2) {
    visit(2);
  } else {
    visit(columns.stride);
  }
}

// Calls f(place, element, tap) for all places of output row `i`, with the element's index in the plane.
template <typename Function>
void ForEachTap(const Sliding& rows, const Sliding& columns, int64_t i, Function f) {
  for (int64_t row_tap = 0; row_tap < rows.kernel; ++row_tap) {
    const int64_t row = rows.At(i, row_tap);
    if (row < 0 || row >= rows.input.size) continue;
    const int64_t begin = row * columns.input.size;
    for (int64_t column_tap = 0; column_tap < columns.kernel; ++column_tap) {
      const auto tap = static_cast<int32_t>(row_tap * columns.kernel + column_tap);
      ForEachPlace(columns, column_tap, [&](int64_t j, int64_t element) { f(j, begin + element, tap); });
    }
  }
}

}  // namespace

void MaxPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y) {
#pragma omp parallel for if (IsWorthThreads(planes, rows, columns))
  for (int64_t p = 0; p < planes; ++p) {
    const float* const from = x + p * InputSize(rows, columns);
    for (int64_t i = 0; i < rows.output.size; ++i) {
      float* const to = y + p * OutputSize(rows, columns) + i * columns.output.size;
      std::fill(to, to + columns.output.size, kLeast);
      ForEachTap(rows, columns, i, [&](int64_t j, int64_t element, int32_t) { to[j] = Maximum(to[j], from[element]); });
    }
  }
}

void MaxPoolIndex(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, int32_t* index) {
#pragma omp parallel for if (IsWorthThreads(planes, rows, columns))
  for (int64_t p = 0; p < planes; ++p) {
    const float* const from = x + p * InputSize(rows, columns);
    std::vector<float> largest(static_cast<size_t>(columns.output.size));
    for (int64_t i = 0; i < rows.output.size; ++i) {
      int32_t* const to = index + p * OutputSize(rows, columns) + i * columns.output.size;
      std::fill(to, to + columns.output.size, 0);
      std::fill(largest.begin(), largest.end(), kLeast);
      ForEachTap(rows, columns, i, [&, best = largest.data()](int64_t j, int64_t element, int32_t tap) {
        const bool larger = RanksBefore(from[element], best[j]);
        to[j] = larger ? tap : to[j];
        best[j] = larger ? from[element] : best[j];
      });
    }
  }
}

void MaxPoolGradient(const float* dy, const int32_t* index, int64_t planes, const Sliding& rows, const Sliding& columns,
                     float* dx) {
#pragma omp parallel for if (IsWorthThreads(planes, rows, columns))
  for (int64_t p = 0; p < planes; ++p) {
    float* const to = dx + p * InputSize(rows, columns);
    std::fill(to, to + InputSize(rows, columns), 0.0f);
    for (int64_t i = 0; i < rows.output.size; ++i) {
      const int64_t begin = p * OutputSize(rows, columns) + i * columns.output.size;
      ForEachTap(rows, columns, i, [&](int64_t j, int64_t element, int32_t tap) {
        to[element] += index[begin + j] == tap ? dy[begin + j] : 0.0f;
      });
    }
  }
}

void AvgPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y) {
  const float part = 1.0f / static_cast<float>(rows.kernel * columns.kernel);
#pragma omp parallel for if (IsWorthThreads(planes, rows, columns))
  for (int64_t p = 0; p < planes; ++p) {
    const float* const from = x + p * InputSize(rows, columns);
    for (int64_t i = 0; i < rows.output.size; ++i) {
      float* const to = y + p * OutputSize(rows, columns) + i * columns.output.size;
      std::fill(to, to + columns.output.size, 0.0f);
      ForEachTap(rows, columns, i, [&](int64_t j, int64_t element, int32_t) { to[j] += from[element]; });
      for (int64_t j = 0; j < columns.output.size; ++j) to[j] *= part;
    }
  }
}

void AvgPoolGradient(const float* dy, int64_t planes, const Sliding& rows, const Sliding& columns, float* dx) {
  const float part = 1.0f / static_cast<float>(rows.kernel * columns.kernel);
#pragma omp parallel for if (IsWorthThreads(planes, rows, columns))
  for (int64_t p = 0; p < planes; ++p) {
    float* const to = dx + p * InputSize(rows, columns);
    std::fill(to, to + InputSize(rows, columns), 0.0f);
    for (int64_t i = 0; i < rows.output.size; ++i) {
      const float* const from = dy + p * OutputSize(rows, columns) + i * columns.output.size;
      ForEachTap(rows, columns, i, [&](int64_t j, int64_t element, int32_t) { to[element] += from[j] * part; });
    }
  }
}

}  // namespace cleave::runtime
