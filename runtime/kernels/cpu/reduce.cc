#include "runtime/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/row.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// A tensor [outer, reduced, inner] becomes [outer, inner].
struct Split {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

struct Sum {
  static constexpr float kIdentity = 0.0f;
  static float Combine(float a, float b) { return a + b; }
  static float Row(const float* x, int64_t n) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
};

// Of a row that is in memory; parts are added up by Sum.
struct SquareSum {
  static float Row(const float* x, int64_t n) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return sum;
  }
};

// The extreme value in an order; a NaN is kept.
template <typename Order>
struct Extreme {
  static constexpr float kIdentity = Order::kLast;
  static float Combine(float a, float b) { return Order::Before(a, b) || a != a ? a : b; }
  static float Row(const float* x, int64_t n) {
    float extreme = kIdentity;
    for (int64_t i = 0; i < n; ++i) extreme = Combine(extreme, x[i]);
    return extreme;
  }
};

struct LargestFirst {
  static constexpr float kLast = -std::numeric_limits<float>::infinity();
  static bool Before(float a, float b) { return a > b; }
};
using Max = Extreme<LargestFirst>;

struct SmallestFirst {
  static constexpr float kLast = std::numeric_limits<float>::infinity();
  static bool Before(float a, float b) { return a < b; }
};
using Min = Extreme<SmallestFirst>;

// The largest magnitude. Magnitudes are ordered like their bits, and those of a NaN come last; so a row is a vector's
// work.
struct MaxAbs {
  static constexpr float kIdentity = 0.0f;
  static float Combine(float a, float b) { return Max::Combine(a, std::abs(b)); }
  static float Row(const float* x, int64_t n) {
    int32_t most = 0;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; ++i) {
      int32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      bits &= 0x7FFFFFFF;
      most = bits > most ? bits : most;
    }
    float magnitude;
    std::memcpy(&magnitude, &most, sizeof magnitude);
    return magnitude;
  }
};

// Rows are reduced in blocks of this many elements, whose results are reduced again. The number is fixed, so that
// results do not depend on the number of threads.
constexpr int64_t kBlock = 4096;

template <typename Op>
float ReduceBlock(ConstReals x, int64_t n) {
  float buffer[kBlock];
  return Op::Row(FloatsOf(x, n, buffer), n);
}

template <typename Op>
float ReduceRow(ConstReals x, int64_t n) {
  float result = Op::kIdentity;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    result = Op::Combine(result, ReduceBlock<Op>(x + begin, std::min(kBlock, n - begin)));
  }
  return result;
}

template <typename Op>
void ReduceRows(ConstReals x, const Split& split, float* y) {
  if (split.outer == 1 && split.reduced > 4 * kBlock) {
    const int64_t blocks = (split.reduced + kBlock - 1) / kBlock;
    WorkspaceVector<float> parts(static_cast<size_t>(blocks));
#pragma omp parallel for
    for (int64_t i = 0; i < blocks; ++i) {
      parts[static_cast<size_t>(i)] = ReduceBlock<Op>(x + i * kBlock, std::min(kBlock, split.reduced - i * kBlock));
    }
    y[0] = ReduceRow<Op>(parts.data(), blocks);
    return;
  }
#pragma omp parallel for if (split.outer * split.reduced >= kParallelElements)
  for (int64_t i = 0; i < split.outer; ++i) y[i] = ReduceRow<Op>(x + i * split.reduced, split.reduced);
}

// As many columns as images in blocks have channels side by side: their results stay in registers.
constexpr int kFewColumns = 16;

// y[inner] of rows [first, last) of x, for columns [begin, end).
// In runs of rows, whose results are reduced again: sums of many rows are then as exact as those of ReduceRow.
template <typename Op>
void ReduceFewColumns(ConstReals x, int64_t first, int64_t last, int64_t inner, int64_t begin, float* y) {
  constexpr int64_t kRun = 32;
  float results[kFewColumns];
  std::fill_n(results, kFewColumns, Op::kIdentity);
  for (int64_t run = first; run < last; run += kRun) {
    float of_run[kFewColumns];
    std::fill_n(of_run, kFewColumns, Op::kIdentity);
    for (int64_t r = run; r < std::min(last, run + kRun); ++r) {
      float buffer[kFewColumns];
      const float* row = FloatsOf(x + r * inner + begin, kFewColumns, buffer);
#pragma omp simd
      for (int j = 0; j < kFewColumns; ++j) of_run[j] = Op::Combine(of_run[j], row[j]);
    }
#pragma omp simd
    for (int j = 0; j < kFewColumns; ++j) results[j] = Op::Combine(results[j], of_run[j]);
  }
  std::copy_n(results, kFewColumns, y + begin);
}

// Columns that one thread takes at a time: a multiple of the vector length that keeps the results in the first cache.
constexpr int64_t kColumns = 256;

// REQUIRES: no more than kColumns.
template <typename Op>
void ReduceColumns(ConstReals x, int64_t first, int64_t last, int64_t inner, int64_t begin, int64_t end, float* y) {
  if (end - begin == kFewColumns) return ReduceFewColumns<Op>(x, first, last, inner, begin, y);
  for (int64_t j = begin; j < end; ++j) y[j] = Op::kIdentity;
  for (int64_t r = first; r < last; ++r) {
    float buffer[kColumns];
    const float* row = FloatsOf(x + r * inner + begin, end - begin, buffer);
#pragma omp simd
    for (int64_t j = begin; j < end; ++j) y[j] = Op::Combine(y[j], row[j - begin]);
  }
}

template <typename Op>
void ReduceMiddle(ConstReals x, const Split& split, float* y) {
  const int64_t chunks = (split.inner + kColumns - 1) / kColumns;
  const int64_t per_outer = split.reduced * split.inner;
  if (split.outer * chunks == 1 && per_outer >= 2 * kParallelElements) {
    // Many short rows are reduced as blocks of rows, side by side.
    const int64_t rows = std::max<int64_t>(1, kParallelElements / split.inner);
    const int64_t blocks = (split.reduced + rows - 1) / rows;
    WorkspaceVector<float> parts(static_cast<size_t>(blocks * split.inner));
#pragma omp parallel for
    for (int64_t i = 0; i < blocks; ++i) {
      ReduceColumns<Op>(x, i * rows, std::min(split.reduced, (i + 1) * rows), split.inner, 0, split.inner,
                        parts.data() + i * split.inner);
    }
    ReduceColumns<Op>(parts.data(), 0, blocks, split.inner, 0, split.inner, y);
    return;
  }
#pragma omp parallel for collapse(2) if (split.outer * per_outer >= kParallelElements)
  for (int64_t i = 0; i < split.outer; ++i) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      ReduceColumns<Op>(x + i * per_outer, 0, split.reduced, split.inner, chunk * kColumns,
                        std::min(split.inner, (chunk + 1) * kColumns), y + i * split.inner);
    }
  }
}

// Reduces neighbouring dimensions together, the last ones first.
template <typename Op>
void Reduce(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  std::vector<bool> reduced(shape.size(), axes.empty());
  for (const int axis : axes) reduced[static_cast<size_t>(axis)] = true;
  std::vector<int64_t> sizes = shape;
  WorkspaceVector<float> source;
  WorkspaceVector<float> target;
  int64_t end = static_cast<int64_t>(shape.size());
  while (true) {
    while (end > 0 && !reduced[static_cast<size_t>(end - 1)]) --end;
    int64_t begin = end;
    while (begin > 0 && reduced[static_cast<size_t>(begin - 1)]) --begin;
    Split split;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      (d < begin ? split.outer : d < end ? split.reduced : split.inner) *= sizes[static_cast<size_t>(d)];
    }
    const bool last = std::find(reduced.begin(), reduced.begin() + begin, true) == reduced.begin() + begin;
    if (!last) target.resize(static_cast<size_t>(split.outer * split.inner));
    float* result = last ? y : target.data();
    if (split.inner == 1) {
      ReduceRows<Op>(x, split, result);
    } else {
      ReduceMiddle<Op>(x, split, result);
    }
    if (last) return;
    source.swap(target);
    x = source.data();
    for (int64_t d = begin; d < end; ++d) sizes[static_cast<size_t>(d)] = 1;
    end = begin;
  }
}

// Blocks are shared among threads; each is a loop that the compiler turns into vector code.
template <Reduction kReduction, typename T>
void AccumulateBy(bool first, const T* part, int64_t count, T* total) {
  const int64_t blocks = (count + kBlock - 1) / kBlock;
#pragma omp parallel for if (count >= kParallelElements)
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t begin = i * kBlock;
    const int64_t size = std::min(kBlock, count - begin);
    if (first) {
      std::copy(part + begin, part + begin + size, total + begin);
    } else {
      ReduceElements(kReduction, total + begin, part + begin, total + begin, size);
    }
  }
}

}  // namespace

void SumOfSquares(const float* x, int64_t count, float* y) {
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  WorkspaceVector<float> parts(static_cast<size_t>(blocks));
#pragma omp parallel for if (count >= kParallelElements)
  for (int64_t i = 0; i < blocks; ++i) {
    parts[static_cast<size_t>(i)] = SquareSum::Row(x + i * kBlock, std::min(kBlock, count - i * kBlock));
  }
  y[0] = ReduceRow<Sum>(parts.data(), blocks);
}

void SumsOfSquares(const std::vector<SquaredTensor>& tensors) {
  for (const SquaredTensor& tensor : tensors) SumOfSquares(tensor.x, tensor.count, tensor.y);
}

void UnitOf(ConstReals x, int64_t count, float largest_number, float* unit) {
  float largest;
  ReduceMaxAbs(x, {count}, {0}, &largest);
  *unit = PowerOfTwoFrom(largest / largest_number);
}

void UnitsOf(const std::vector<MeasuredTensor>& tensors) {
  for (const MeasuredTensor& tensor : tensors) UnitOf(tensor.x, tensor.count, tensor.largest_number, tensor.unit);
}

void ReduceSum(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Sum>(x, shape, axes, y);
}

void ReduceMax(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Max>(x, shape, axes, y);
}

void ReduceMaxAbs(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<MaxAbs>(x, shape, axes, y);
}

void ReduceMin(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  Reduce<Min>(x, shape, axes, y);
}

void ReduceMean(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, int64_t count,
                float* y) {
  Reduce<Sum>(x, shape, axes, y);
  int64_t results = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool kept = !axes.empty() && std::find(axes.begin(), axes.end(), static_cast<int>(d)) == axes.end();
    if (kept) results *= shape[d];
  }
  for (int64_t i = 0; i < results; ++i) y[i] /= static_cast<float>(count);
}

template <typename T>
void Accumulate(Reduction reduction, bool first, const T* part, int64_t count, T* total) {
  switch (reduction) {
    case Reduction::kSum:
      return AccumulateBy<Reduction::kSum>(first, part, count, total);
    case Reduction::kMax:
      return AccumulateBy<Reduction::kMax>(first, part, count, total);
    case Reduction::kMin:
      return AccumulateBy<Reduction::kMin>(first, part, count, total);
    case Reduction::kProd:
      return AccumulateBy<Reduction::kProd>(first, part, count, total);
  }
}

template void Accumulate(Reduction, bool, const float*, int64_t, float*);
template void Accumulate(Reduction, bool, const int32_t*, int64_t, int32_t*);
template void Accumulate(Reduction, bool, const BFloat16*, int64_t, BFloat16*);
template void Accumulate(Reduction, bool, const Float16*, int64_t, Float16*);

}  // namespace cleave::runtime
