#include "runtime/kernels/rows.h"

#include <cmath>

#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/parallel.h"
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

void Softmax(const float* x, int64_t rows, int64_t columns, float* y) {
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    const float scale = 1.0f / RowExp(from, columns, RowMax(from, columns), to);
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) to[i] *= scale;
  }
}

void SoftmaxGradient(const float* dy, const float* y, int64_t rows, int64_t columns, float* dx) {
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = r * columns;
    const float dot = RowDot(dy + row, y + row, columns);
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) dx[row + i] = (dy[row + i] - dot) * y[row + i];
  }
}

void LogSoftmax(const float* x, int64_t rows, int64_t columns, float* y) {
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    const float largest = RowMax(from, columns);
    const float logarithm = std::log(RowExp(from, columns, largest, to));
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) to[i] = from[i] - largest - logarithm;
  }
}

void LogSoftmaxGradient(const float* dy, const float* y, int64_t rows, int64_t columns, float* dx) {
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = r * columns;
    const float sum = RowSum(dy + row, columns);
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) dx[row + i] = dy[row + i] - Exp(y[row + i]) * sum;
  }
}

void LayerNorm(const float* x, const float* scale, const float* shift, int64_t rows, int64_t columns, float epsilon,
               float* y) {
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = r * columns;
    const Moments moments = RowMoments(x + row, columns, epsilon);
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) {
      y[row + i] = (x[row + i] - moments.mean) * moments.inverse_deviation * scale[i] + shift[i];
    }
  }
}

// With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n mean(g n)) / deviation.
void LayerNormGradientInput(const float* dy, const float* x, const float* scale, int64_t rows, int64_t columns,
                            float epsilon, float* dx) {
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = r * columns;
    const Moments moments = RowMoments(x + row, columns, epsilon);
    float sum = 0.0f;
    float product = 0.0f;
#pragma omp simd reduction(+ : sum, product)
    for (int64_t i = 0; i < columns; ++i) {
      const float g = dy[row + i] * scale[i];
      sum += g;
      product += g * (x[row + i] - moments.mean) * moments.inverse_deviation;
    }
    sum /= static_cast<float>(columns);
    product /= static_cast<float>(columns);
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) {
      const float normal = (x[row + i] - moments.mean) * moments.inverse_deviation;
      dx[row + i] = (dy[row + i] * scale[i] - sum - normal * product) * moments.inverse_deviation;
    }
  }
}

void LayerNormGradientScale(const float* dy, const float* x, int64_t rows, int64_t columns, float epsilon,
                            float* dscale) {
  WorkspaceVector<float> products(static_cast<size_t>(rows * columns));
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = r * columns;
    const Moments moments = RowMoments(x + row, columns, epsilon);
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) {
      products[static_cast<size_t>(row + i)] = dy[row + i] * (x[row + i] - moments.mean) * moments.inverse_deviation;
    }
  }
  ReduceSum(products.data(), {rows, columns}, {0}, dscale);
}

}  // namespace cleave::runtime
