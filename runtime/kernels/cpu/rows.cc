#include "runtime/kernels/rows.h"

#include <cmath>

#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/row.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/reduce.h"

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

// With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n mean(g n)) / deviation.
void LayerNormGradientInput(ConstReals dy, ConstReals x, const float* scale, int64_t rows, int64_t columns,
                            float epsilon, Reals dx) {
  ForEachRow(
      rows, columns, dx,
      [=](int64_t, const float* by_result, const float* from, float* to) {
        const Moments moments = RowMoments(from, columns, epsilon);
        float sum = 0.0f;
        float product = 0.0f;
#pragma omp simd reduction(+ : sum, product)
        for (int64_t i = 0; i < columns; ++i) {
          const float g = by_result[i] * scale[i];
          sum += g;
          product += g * (from[i] - moments.mean) * moments.inverse_deviation;
        }
        sum /= static_cast<float>(columns);
        product /= static_cast<float>(columns);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) {
          const float normal = (from[i] - moments.mean) * moments.inverse_deviation;
          to[i] = (by_result[i] * scale[i] - sum - normal * product) * moments.inverse_deviation;
        }
      },
      dy, x);
}

void LayerNormGradientScale(ConstReals dy, ConstReals x, int64_t rows, int64_t columns, float epsilon, float* dscale) {
  WorkspaceVector<float> products(static_cast<size_t>(rows * columns));
  ForEachRow(
      rows, columns, products.data(),
      [=](int64_t, const float* by_result, const float* from, float* to) {
        const Moments moments = RowMoments(from, columns, epsilon);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) {
          to[i] = by_result[i] * (from[i] - moments.mean) * moments.inverse_deviation;
        }
      },
      dy, x);
  ReduceSum(products.data(), {rows, columns}, {0}, dscale);
}

}  // namespace cleave::runtime
