#include "runtime/kernels/rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/row.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/row_parts.h"

namespace cleave::runtime {
namespace {

// y = exp(x - largest); returns the sum.
float RowExp(const float* x, int64_t n, float largest, float* y) {
  return SumOfBlocks(n, [=](int64_t begin, int64_t end) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) {
      y[i] = Exp(x[i] - largest);
      sum += y[i];
    }
    return sum;
  });
}

float RowDot(const float* a, const float* b, int64_t n) {
  return SumOfBlocks(n, [=](int64_t begin, int64_t end) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += a[i] * b[i];
    return sum;
  });
}

struct Moments {
  float mean = 0.0f;               // Or 0 where it stays.
  float inverse_deviation = 0.0f;  // 1 / sqrt(variance + epsilon)
};

Moments RowMoments(const float* x, int64_t n, RowNorm norm) {
  const float mean = norm.centered ? RowSum(x, n) / static_cast<float>(n) : 0.0f;
  float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1.0f / std::sqrt(squares / static_cast<float>(n) + norm.epsilon)};
}

// With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n mean(g n)) / deviation; without mean(g)
// unless `centered`.
void InputGradientOfRow(const float* dy, const float* x, const float* scale, int64_t n, const Moments& moments,
                        bool centered, float* dx) {
  float sum = 0.0f;
  float product = 0.0f;
#pragma omp simd reduction(+ : sum, product)
  for (int64_t i = 0; i < n; ++i) {
    const float g = dy[i] * scale[i];
    sum += g;
    product += g * (x[i] - moments.mean) * moments.inverse_deviation;
  }
  sum = centered ? sum / static_cast<float>(n) : 0.0f;
  product /= static_cast<float>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float normal = (x[i] - moments.mean) * moments.inverse_deviation;
    dx[i] = (dy[i] * scale[i] - sum - normal * product) * moments.inverse_deviation;
  }
}

// to = the sum of `count` rows of n elements.
void AddRows(const float* rows, int64_t count, int64_t n, float* to) {
  std::fill_n(to, n, 0.0f);
  for (int64_t r = 0; r < count; ++r) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] += rows[r * n + i];
  }
}

}  // namespace

void Softmax(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  ForEachRow(
      rows, columns, y,
      [=](int64_t, const float* from, float* to) {
        const float scale = 1.0f / RowExp(from, columns, RowMax(from, columns), to);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] *= scale;
      },
      x);
}

void SoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  ForEachRow(
      rows, columns, dx,
      [=](int64_t, const float* by_result, const float* result, float* to) {
        const float dot = RowDot(by_result, result, columns);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = (by_result[i] - dot) * result[i];
      },
      dy, y);
}

void LogSoftmax(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  ForEachRow(
      rows, columns, y,
      [=](int64_t, const float* from, float* to) {
        const float largest = RowMax(from, columns);
        const float logarithm = std::log(RowExp(from, columns, largest, to));
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = from[i] - largest - logarithm;
      },
      x);
}

void LogSoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  ForEachRow(
      rows, columns, dx,
      [=](int64_t, const float* by_result, const float* result, float* to) {
        const float sum = RowSum(by_result, columns);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = by_result[i] - Exp(result[i]) * sum;
      },
      dy, y);
}

void LayerNorm(ConstReals x, ConstReals added, const float* scale, const float* shift, int64_t rows, int64_t columns,
               RowNorm norm, float* sum, Reals y) {
  const bool has_terms = added.place() != nullptr;
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    RowReader inputs(x, columns);
    RowReader others(added, columns);
    RowWriter writer(y, columns);
    std::vector<float> own_sum(has_terms && sum == nullptr ? static_cast<size_t>(columns) : 0);
#pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = inputs.At(r);
      if (has_terms) {
        const float* const other = others.At(r);
        float* const both = sum != nullptr ? sum + r * columns : own_sum.data();
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) both[i] = from[i] + other[i];
        from = both;
      }
      const Moments moments = RowMoments(from, columns, norm);
      float* const to = writer.At(r);
      if (shift != nullptr) {
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) {
          to[i] = (from[i] - moments.mean) * moments.inverse_deviation * scale[i] + shift[i];
        }
      } else {
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = (from[i] - moments.mean) * moments.inverse_deviation * scale[i];
      }
      writer.Done(r);
    }
  }
}

void LayerNormGradient(ConstReals dy, ConstReals x, const float* scale, const float* other, int64_t rows,
                       int64_t columns, RowNorm norm, Reals dx, Reals rounded, float* dscale, float* dshift) {
  const RowParts parts = PartsOfRows(rows, columns);
  const bool has_sums = dscale != nullptr || dshift != nullptr;
  const Reals first = dx.place() != nullptr ? dx : rounded;  // Where a row is made.
  const bool has_input = first.place() != nullptr;
  const bool has_both = dx.place() != nullptr && rounded.place() != nullptr;
  // [part, columns], first those by scale.
  WorkspaceVector<float> sums(has_sums ? static_cast<size_t>(2 * parts.count * columns) : 0);
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    RowReader by_results(dy, columns);
    RowReader inputs(x, columns);
    RowWriter writer(first, columns);
    // Where `other` may lie under the row that is made.
    std::vector<float> own_row(other != nullptr ? static_cast<size_t>(columns) : 0);
#pragma omp for
    for (int64_t part = 0; part < parts.count; ++part) {
      float* const by_scale = has_sums ? sums.data() + part * columns : nullptr;
      float* const by_shift = has_sums ? by_scale + parts.count * columns : nullptr;
      for (int64_t r = part * parts.size; r < std::min(rows, (part + 1) * parts.size); ++r) {
        const float* const by_result = by_results.At(r);
        const float* const from = inputs.At(r);
        const Moments moments = RowMoments(from, columns, norm);
        if (has_sums) {  // First, because dx may lie over dy.
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i) {
            by_scale[i] += by_result[i] * ((from[i] - moments.mean) * moments.inverse_deviation);
            by_shift[i] += by_result[i];
          }
        }
        if (!has_input) continue;
        float* const to = writer.At(r);
        float* const own = other != nullptr ? own_row.data() : to;
        InputGradientOfRow(by_result, from, scale, columns, moments, norm.centered, own);
        if (other != nullptr) {
          const float* const more = other + r * columns;
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i) to[i] = more[i] + own[i];
        }
        if (has_both) WriteReals(to, columns, rounded + r * columns);
        writer.Done(r);
      }
    }
  }
  if (dscale != nullptr) AddRows(sums.data(), parts.count, columns, dscale);
  if (dshift != nullptr) AddRows(sums.data() + parts.count * columns, parts.count, columns, dshift);
}

}  // namespace cleave::runtime
