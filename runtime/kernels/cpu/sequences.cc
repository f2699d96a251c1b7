#include "runtime/kernels/sequences.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/row.h"

namespace cleave::runtime {
namespace {

// A tensor as [outer, length, inner], `length` that of one dimension.
struct Lines {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  int64_t elements() const { return outer * length * inner; }
};

Lines LinesAlong(const std::vector<int64_t>& shape, int axis) {
  Lines lines;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    (d < axis ? lines.outer : d == axis ? lines.length : lines.inner) *= shape[static_cast<size_t>(d)];
  }
  return lines;
}

// Sums from element `first` on, `step` (1 or -1) at a time.
void RunningSum(const float* x, const Lines& lines, int64_t first, int64_t step, float* y) {
  if (lines.elements() == 0) return;
#pragma omp parallel for if (lines.elements() >= kParallelElements)
  for (int64_t o = 0; o < lines.outer; ++o) {
    int64_t at = (o * lines.length + first) * lines.inner;
    for (int64_t j = 0; j < lines.inner; ++j) y[at + j] = x[at + j];
    for (int64_t i = 1; i < lines.length; ++i) {
      const int64_t before = at;
      at += step * lines.inner;
      for (int64_t j = 0; j < lines.inner; ++j) y[at + j] = y[before + j] + x[at + j];
    }
  }
}

// Writes value(begin, end) for each element of the run from `begin` up to `end`.
template <typename Value>
void WriteRuns(const int32_t* x, int64_t rows, int64_t length, int32_t* y, Value value) {
#pragma omp parallel for if (rows * length >= kParallelElements)
  for (int64_t row = 0; row < rows * length; row += length) {
    for (int64_t begin = 0, end = 0; begin < length; begin = end) {
      while (end < length && x[row + end] == x[row + begin]) ++end;
      std::fill(y + row + begin, y + row + end, static_cast<int32_t>(value(begin, end)));
    }
  }
}

}  // namespace

void RunBegins(const int32_t* x, int64_t rows, int64_t length, int32_t* y) {
  WriteRuns(x, rows, length, y, [](int64_t begin, int64_t) { return begin; });
}

void RunEnds(const int32_t* x, int64_t rows, int64_t length, int32_t* y) {
  WriteRuns(x, rows, length, y, [](int64_t, int64_t end) { return end; });
}

void Cumsum(const float* x, const std::vector<int64_t>& shape, int axis, float* y) {
  RunningSum(x, LinesAlong(shape, axis), 0, 1, y);
}

void ReverseCumsum(const float* x, const std::vector<int64_t>& shape, int axis, float* y) {
  const Lines lines = LinesAlong(shape, axis);
  RunningSum(x, lines, lines.length - 1, -1, y);
}

void Rope(ConstReals x, const std::vector<int64_t>& shape, const Rotation& rotation, Reals y) {
  const Lines lines = LinesAlong(shape, rotation.axis);
  if (lines.elements() == 0) return;
  const int64_t head = shape.back();
  const int64_t half = head / 2;
  std::vector<double> frequency(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i) {
    frequency[static_cast<size_t>(i)] =
        std::pow(rotation.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head));
  }
#pragma omp parallel if (lines.elements() >= kParallelElements)
  {
    std::vector<float> cosine(static_cast<size_t>(half));
    std::vector<float> sine(static_cast<size_t>(half));
    RowReader reader(x, head);
    RowWriter writer(y, head);
    const int64_t outer = lines.outer / rotation.batch;
#pragma omp for
    for (int64_t n = 0; n < rotation.batch * lines.length; ++n) {
      const int64_t s = n % lines.length, first = n / lines.length * outer;
      const int64_t place =
          rotation.positions != nullptr ? rotation.positions[n] : rotation.first_position + rotation.zigzag.PlaceOf(s);
      const double position = static_cast<double>(place) * (rotation.inverse ? -1.0 : 1.0);
      for (size_t i = 0; i < frequency.size(); ++i) {
        cosine[i] = static_cast<float>(std::cos(position * frequency[i]));
        sine[i] = static_cast<float>(std::sin(position * frequency[i]));
      }
      for (int64_t o = first; o < first + outer; ++o) {
        for (int64_t row = 0; row < lines.inner; row += head) {
          const int64_t at = ((o * lines.length + s) * lines.inner + row) / head;
          const float* const from = reader.At(at);
          float* const to = writer.At(at);
          for (int64_t i = 0; i < half; ++i) {
            const float c = cosine[static_cast<size_t>(i)];
            const float d = sine[static_cast<size_t>(i)];
            const float a = from[i];
            const float b = from[half + i];
            to[i] = a * c - b * d;
            to[half + i] = b * c + a * d;
          }
          writer.Done(at);
        }
      }
    }
  }
}

}  // namespace cleave::runtime
