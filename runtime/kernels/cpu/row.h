// Rows as floats, and reductions of one, shared by the functions of rows and the losses.
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_

#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "runtime/device/reals.h"
#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {

// to = x, and y = from.
inline void ReadReals(ConstReals x, int64_t n, float* to) {
  const auto copy = [=](const auto* from) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  };
  switch (x.type()) {
    case RealType::kI8:  // Nothing that is computed.
    case RealType::kI32:
    case RealType::kF32:
      return copy(x.As<float>());
    case RealType::kBf16:
      return copy(x.As<BFloat16>());
    case RealType::kF16:
      return copy(x.As<Float16>());
  }
}
inline void WriteReals(const float* from, int64_t n, Reals y) {
  const auto copy = [=](auto* to) {
    using T = std::remove_reference_t<decltype(*to)>;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = T(from[i]);
  };
  switch (y.type()) {
    case RealType::kI8:
    case RealType::kI32:
    case RealType::kF32:
      return copy(y.As<float>());
    case RealType::kBf16:
      return copy(y.As<BFloat16>());
    case RealType::kF16:
      return copy(y.As<Float16>());
  }
}

// `n` elements of x as floats: where they lie, or in `buffer`.
inline const float* FloatsOf(ConstReals x, int64_t n, float* buffer) {
  if (x.type() == RealType::kF32) return x.As<float>();
  ReadReals(x, n, buffer);
  return buffer;
}

// The rows of a tensor as floats, one at a time and for one thread: where they lie, or in a buffer.
class RowReader {
 public:
  RowReader(ConstReals x, int64_t columns) : x_(x), columns_(columns) {
    if (x.type() != RealType::kF32) buffer_.resize(static_cast<size_t>(columns));
  }
  const float* At(int64_t row) { return FloatsOf(x_ + row * columns_, columns_, buffer_.data()); }

 private:
  ConstReals x_;
  int64_t columns_;
  std::vector<float> buffer_;
};

class RowWriter {
 public:
  RowWriter(Reals y, int64_t columns) : y_(y), columns_(columns) {
    if (y.type() != RealType::kF32) buffer_.resize(static_cast<size_t>(columns));
  }
  // Where the row is to be written. Done, with the same row, follows.
  float* At(int64_t row) { return buffer_.empty() ? y_.As<float>() + row * columns_ : buffer_.data(); }
  void Done(int64_t row) {
    if (!buffer_.empty()) WriteReals(buffer_.data(), columns_, y_ + row * columns_);
  }

 private:
  Reals y_;
  int64_t columns_;
  std::vector<float> buffer_;
};

// Calls visit(r, row r of each tensor of `x`…, where that of y goes) for each row, in several threads where that pays.
template <typename Visit, typename... X>
void ForEachRow(int64_t rows, int64_t columns, Reals y, Visit visit, X... x) {
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    RowWriter writer(y, columns);
    std::array<RowReader, sizeof...(X)> readers{RowReader(x, columns)...};
#pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      std::apply([&](auto&... reader) { visit(r, reader.At(r)..., writer.At(r)); }, readers);
      writer.Done(r);
    }
  }
}

inline float RowMax(const float* x, int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// The sum of sum_of(begin, end) over blocks of elements: if a long row were one chain of additions in float, it would
// lose digits.
template <typename SumOf>
float SumOfBlocks(int64_t n, SumOf sum_of) {
  constexpr int64_t kBlock = 1024;
  double sum = 0.0;
  for (int64_t begin = 0; begin < n; begin += kBlock) sum += sum_of(begin, begin + kBlock < n ? begin + kBlock : n);
  return static_cast<float>(sum);
}

inline float RowSum(const float* x, int64_t n) {
  return SumOfBlocks(n, [=](int64_t begin, int64_t end) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += x[i];
    return sum;
  });
}

// The sum of exp(x - largest).
inline float RowExpSum(const float* x, int64_t n, float largest) {
  return SumOfBlocks(n, [=](int64_t begin, int64_t end) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += Exp(x[i] - largest);
    return sum;
  });
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_ROW_H_
