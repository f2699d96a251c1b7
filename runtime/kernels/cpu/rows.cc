#include "runtime/kernels/rows.h"

#include <algorithm>
#include <cmath>

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
  float mean = 0.0f;
  float inverse_deviation = 0.0f;  // 1 / sqrt(variance + epsilon)
};

Moments RowMoments(const float* x, int64_t n, float epsilon) {
  const float mean = RowSum(x, n) / static_cast<float>(n);
  float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1.0f / std::sqrt(squares / static_cast<float>(n) + epsilon)};
}

// With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n mean(g n)) / deviation.
void InputGradientOfRow(const float* dy, const float* x, const float* scale, int64_t n, const Moments& moments,
                        float* dx) {
  float sum = 0.0f;
  float product = 0.0f;
#pragma omp simd reduction(+ : sum, product)
  for (int64_t i = 0; i < n; ++i) {
    const float g = dy[i] * scale[i];
    sum += g;
    product += g * (x[i] - moments.mean) * moments.inverse_deviation;
  }
  sum /= static_cast<float>(n);
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

void LayerNorm(ConstReals x, const float* scale, const float* shift, int64_t rows, int64_t columns, float epsilon,
               Reals y) {
  ForEachRow(
      rows, columns, y,
      [=](int64_t, const float* from, float* to) {
        const Moments moments = RowMoments(from, columns, epsilon);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) {
          to[i] = (from[i] - moments.mean) * moments.inverse_deviation * scale[i] + shift[i];
        }
      },
      x);
}

void LayerNormGradient(ConstReals dy, ConstReals x, const float* scale, int64_t rows, int64_t columns, float epsilon,
                       Reals dx, float* dscale, float* dshift) {
  const RowParts parts = PartsOfRows(rows, columns);
  const bool has_sums = dscale != nullptr || dshift != nullptr;
  // [part, columns], first those by scale.
  WorkspaceVector<float> sums(has_sums ? static_cast<size_t>(2 * parts.count * columns) : 0);
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    RowReader by_results(dy, columns);
    RowReader inputs(x, columns);
    RowWriter writer(dx, columns);
#pragma omp for
    for (int64_t part = 0; part < parts.count; ++part) {
      float* const by_scale = has_sums ? sums.data() + part * columns : nullptr;
      float* const by_shift = has_sums ? by_scale + parts.count * columns : nullptr;
      for (int64_t r = part * parts.size; r < std::min(rows, (part + 1) * parts.size); ++r) {
        const float* const by_result = by_results.At(r);
        const float* const from = inputs.At(r);
        const Moments moments = RowMoments(from, columns, epsilon);
        if (has_sums) {  // First, because dx may lie over dy.
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i) {
            by_scale[i] += by_result[i] * ((from[i] - moments.mean) * moments.inverse_deviation);
            by_shift[i] += by_result[i];
          }
        }
        if (dx.place() == nullptr) continue;
        InputGradientOfRow(by_result, from, scale, columns, moments, writer.At(r));
        writer.Done(r);
      }
    }
  }
  if (dscale != nullptr) AddRows(sums.data(), parts.count, columns, dscale);
  if (dshift != nullptr) AddRows(sums.data() + parts.count * columns, parts.count, columns, dshift);
}

}  // namespace cleave::runtime
