// Maxima are taken along each row of the input first, then over the rows that a place sees: the first of equal
// elements, row by row, is the first of its row in the first such row. Where kernels lie side by side, as 2 x 2 of
// stride 2 do, elements of all rows are taken two by two as if they were one long row, because vectors are often longer
// than a row.
//
// Else the outer loops run over taps and the innermost one over a row's places: then every step of a row does the same,
// without checks for padding.
#include "runtime/kernels/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/vectors.h"
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

// Whether the places of a kernel lie side by side, from the first element that the rank has to the last one.
bool AreSideBySide(const Sliding& sliding) {
  return sliding.kernel == sliding.stride && sliding.dilation == 1 && sliding.first() == 0 &&
         sliding.input.size == sliding.kernel * sliding.output.size;
}
bool ArePairs(const Sliding& sliding) { return AreSideBySide(sliding) && sliding.kernel == 2; }

// Room for `count` elements, and for those that a last vector reads or writes behind them.
template <typename T>
std::vector<T> WithRoom(int64_t count) {
  return std::vector<T>(static_cast<size_t>(count + kLanes));
}

// The largest element that each place of a plane sees and, with taps, which tap saw it.
template <bool kWithTaps>
class LargestOfPlane {
 public:
  LargestOfPlane(const Sliding& rows, const Sliding& columns)
      : rows_(rows),
        columns_(columns),
        along_rows_(WithRoom<float>(rows.input.size * columns.output.size)),
        column_taps_(WithRoom<uint32_t>(kWithTaps ? rows.input.size * columns.output.size : 0)),
        values_(WithRoom<float>(OutputSize(rows, columns))),
        taps_(WithRoom<uint32_t>(kWithTaps ? OutputSize(rows, columns) : 0)) {}

  const float* values() const { return values_.data(); }
  const int32_t* taps() const { return reinterpret_cast<const int32_t*>(taps_.data()); }

  void Find(const float* plane) {
    if (ArePairs(columns_)) {
      TakePairs(plane, rows_.input.size * columns_.output.size);
    } else {
      for (int64_t row = 0; row < rows_.input.size; ++row) TakeRow(plane + row * columns_.input.size, row);
    }
    for (int64_t i = 0; i < rows_.output.size; ++i) TakeRows(i);
  }

 private:
  void TakePairs(const float* pairs, int64_t count) {
    float* const largest = along_rows_.data();
    uint32_t* const taps = column_taps_.data();
#pragma omp simd
    for (int64_t k = 0; k < count; ++k) {
      const float first = pairs[2 * k];
      const float second = pairs[2 * k + 1];
      const bool is_second = RanksBefore(second, first);
      largest[k] = is_second ? second : first;
      if constexpr (kWithTaps) taps[k] = is_second ? 1 : 0;
    }
  }

  void TakeRow(const float* from, int64_t row) {
    float* const largest = along_rows_.data() + row * columns_.output.size;
    uint32_t* const taps = column_taps_.data() + (kWithTaps ? row * columns_.output.size : 0);
    std::fill_n(largest, columns_.output.size, kLeast);
    if constexpr (kWithTaps) std::fill_n(taps, columns_.output.size, 0);
    for (int64_t tap = 0; tap < columns_.kernel; ++tap) {
      ForEachPlace(columns_, tap, [=](int64_t j, int64_t element) {
        const bool is_larger = RanksBefore(from[element], largest[j]);
        largest[j] = is_larger ? from[element] : largest[j];
        if constexpr (kWithTaps) taps[j] = is_larger ? static_cast<uint32_t>(tap) : taps[j];
      });
    }
  }

  // Output row `i`. The last vector also writes what belongs to the next row, which comes later.
  void TakeRows(int64_t i) {
    const int64_t width = columns_.output.size;
    for (int64_t j = 0; j < width; j += kLanes) {
      Floats largest = Floats{} + kLeast;
      Bits taps = {};
      for (int64_t tap = 0; tap < rows_.kernel; ++tap) {
        const int64_t row = rows_.At(i, tap);
        if (row < 0 || row >= rows_.input.size) continue;
        const Floats value = Load(along_rows_.data() + row * width + j);
        const auto is_larger = (value > largest) | ((value != value) & (largest == largest));
        largest = is_larger ? value : largest;
        if constexpr (kWithTaps) {
          const Bits seen = Load(column_taps_.data() + row * width + j) + static_cast<uint32_t>(tap * columns_.kernel);
          taps = is_larger ? seen : taps;
        }
      }
      Store(largest, values_.data() + i * width + j);
      if constexpr (kWithTaps) Store(taps, taps_.data() + i * width + j);
    }
  }

  const Sliding rows_;
  const Sliding columns_;
  std::vector<float> along_rows_;      // Of each row of the input, what each place sees of it.
  std::vector<uint32_t> column_taps_;  // The tap of the columns that saw it.
  std::vector<float> values_;
  std::vector<uint32_t> taps_;
};

// The gradient of a plane whose kernels lie side by side, two columns wide. Like above, the last vector of a row also
// writes what belongs to the next ones; rows whose last vector ends behind the plane are copied.
class PairsOfGradient {
 public:
  PairsOfGradient(const Sliding& rows, const Sliding& columns)
      : kernel_(rows.kernel),
        rows_(rows.output.size),
        width_(columns.output.size),
        dy_(WithRoom<float>(rows_ * width_)),
        taps_(WithRoom<uint32_t>(rows_ * width_)),
        row_(WithRoom<float>(2 * width_ + kLanes)) {}

  void Spread(const float* dy, const int32_t* taps, float* dx) {
    std::copy_n(dy, rows_ * width_, dy_.data());
    std::copy_n(taps, rows_ * width_, taps_.data());
    const int64_t rows = rows_ * kernel_;
    const int64_t written = 2 * (width_ + kLanes);  // By a row, at most.
    for (int64_t row = 0; row < rows; ++row) {
      float* const to = dx + 2 * row * width_;
      if (2 * row * width_ + written <= 2 * rows * width_) {
        SpreadRow(row / kernel_, row % kernel_, to);
      } else {
        SpreadRow(row / kernel_, row % kernel_, row_.data());
        std::copy_n(row_.data(), 2 * width_, to);
      }
    }
  }

 private:
  void SpreadRow(int64_t i, int64_t row_tap, float* to) const {
    const auto first = static_cast<uint32_t>(2 * row_tap);
    for (int64_t j = 0; j < width_; j += kLanes) {
      const Floats gradient = Load(dy_.data() + i * width_ + j);
      const Bits tap = Load(taps_.data() + i * width_ + j);
      const Floats left = tap == first ? gradient : Floats{};
      const Floats right = tap == first + 1 ? gradient : Floats{};
      Store(Shuffled(left, right, Load(kInterleaving.lower)), to + 2 * j);
      Store(Shuffled(left, right, Load(kInterleaving.upper)), to + 2 * j + kLanes);
    }
  }

  const int64_t kernel_;  // Of rows.
  const int64_t rows_;
  const int64_t width_;
  std::vector<float> dy_;
  std::vector<uint32_t> taps_;
  std::vector<float> row_;
};

// Calls make()(plane) for all planes; each thread makes its own function.
template <typename Make>
void ForEachPlane(int64_t planes, const Sliding& rows, const Sliding& columns, Make make) {
#pragma omp parallel if (IsWorthThreads(planes, rows, columns))
  {
    auto run = make();
#pragma omp for
    for (int64_t p = 0; p < planes; ++p) run(p);
  }
}

}  // namespace

void MaxPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y) {
  ForEachPlane(planes, rows, columns, [&] {
    return [&, largest = LargestOfPlane<false>(rows, columns)](int64_t p) mutable {
      largest.Find(x + p * InputSize(rows, columns));
      std::copy_n(largest.values(), OutputSize(rows, columns), y + p * OutputSize(rows, columns));
    };
  });
}

void MaxPoolIndex(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, int32_t* index) {
  ForEachPlane(planes, rows, columns, [&] {
    return [&, largest = LargestOfPlane<true>(rows, columns)](int64_t p) mutable {
      largest.Find(x + p * InputSize(rows, columns));
      std::copy_n(largest.taps(), OutputSize(rows, columns), index + p * OutputSize(rows, columns));
    };
  });
}

void MaxPoolGradient(const float* dy, const int32_t* index, int64_t planes, const Sliding& rows, const Sliding& columns,
                     float* dx) {
  const bool is_by_pairs = AreSideBySide(rows) && ArePairs(columns);
  ForEachPlane(planes, rows, columns, [&] {
    return [&, pairs = PairsOfGradient(rows, columns)](int64_t p) mutable {
      float* const to = dx + p * InputSize(rows, columns);
      const float* const from = dy + p * OutputSize(rows, columns);
      const int32_t* const taps = index + p * OutputSize(rows, columns);
      if (is_by_pairs) return pairs.Spread(from, taps, to);
      std::fill(to, to + InputSize(rows, columns), 0.0f);
      for (int64_t i = 0; i < rows.output.size; ++i) {
        const int64_t begin = i * columns.output.size;
        ForEachTap(rows, columns, i, [&](int64_t j, int64_t element, int32_t tap) {
          to[element] += taps[begin + j] == tap ? from[begin + j] : 0.0f;
        });
      }
    };
  });
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
