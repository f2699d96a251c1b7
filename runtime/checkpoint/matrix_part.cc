#include "runtime/checkpoint/matrix_part.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/device/memory.h"
#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

constexpr float kLargest = 127;

float ScaleOf(const float* row, int64_t columns) {
  float largest = 0;
  bool is_finite = true;
  for (int64_t i = 0; i < columns; ++i) {
    is_finite &= std::isfinite(row[i]);
    largest = std::max(largest, std::abs(row[i]));
  }
  return is_finite ? largest / kLargest : NAN;
}

// Of a row of zeros, or of one that has no scale, all are 0.
int8_t NumberOf(float value, float scale) {
  if (!(scale > 0)) return 0;
  return static_cast<int8_t>(std::clamp(std::nearbyint(value / scale), -kLargest, kLargest));
}

}  // namespace

TensorLayout RowsOf(const MatrixPart& part, TensorLayout layout) {
  layout.shape.back() = part.columns;
  if (layout.axes.size() == layout.shape.size()) layout.axes.pop_back();
  return layout;
}

void SetPart(const MatrixPart& part, const Region& piece, const float* rows, const Reals& values) {
  const int64_t begin = piece.begin.back(), width = piece.size.back();
  const int64_t count = width > 0 ? ElementCount(piece.size) / width : 0;
  std::vector<int8_t> numbers(static_cast<size_t>(part.is_numbers ? count * width : 0));
  std::vector<float> scales(static_cast<size_t>(count));
  for (int64_t row = 0; row < count; ++row) {
    const float* const from = rows + row * part.columns;
    const float scale = ScaleOf(from, part.columns);
    scales[static_cast<size_t>(row)] = scale;
    if (!part.is_numbers) continue;
    int8_t* const to = numbers.data() + row * width;
    for (int64_t i = 0; i < width; ++i) to[i] = NumberOf(from[begin + i], scale);
  }
  if (part.is_numbers) return CopyToDevice(numbers.data(), values.place(), count * width);
  CopyToDevice(scales.data(), values.place(), count * width * SizeOf(RealType::kF32));
}

void FillRows(const MatrixPart& part, uint64_t seed, const Region& rows, float* values) {
  const Stream stream = {seed, part.matrix.c_str()};
  switch (part.first) {
    case FirstValues::kConstant:
      return FillConstant(rows, part.one, values);
    case FirstValues::kUniform:
      return FillUniform(stream, rows, part.one, part.other, values);
    case FirstValues::kNormal:
      return FillNormal(stream, rows, part.one, part.other, values);
    case FirstValues::kOfFile:
      return;
  }
}

}  // namespace cleave::runtime
