#include <cmath>

#include "runtime/kernels/cuda/columns.cuh"
#include "runtime/kernels/cuda/row.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/rows.h"

namespace cleave::runtime {
namespace {

template <typename Form>
__global__ void SoftmaxRows(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const ExpSum exponentials = RowExpSum(row, columns);
    const float largest = exponentials.largest;
    const float scale = 1.0f / exponentials.sum;
    WriteRow<Form>(
        columns, y + r * columns, [=](int64_t, float at) { return Exp(at - largest) * scale; }, row);
  }
}

template <typename Form>
__global__ void SoftmaxGradientRows(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> by_result(dy + r * columns, columns);
    const Row<Form> result(y + r * columns, columns);
    float own = 0.0f;
    ForEachElement<Form>(
        columns, [&](int64_t, float a, float b) { own += a * b; }, by_result, result);
    const float dot = GroupReduce<Form::kThreads>(own, Sum());
    WriteRow<Form>(
        columns, dx + r * columns, [=](int64_t, float a, float b) { return (a - dot) * b; }, by_result, result);
  }
}

template <typename Form>
__global__ void LogSoftmaxRows(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const ExpSum exponentials = RowExpSum(row, columns);
    const float largest = exponentials.largest;
    const float logarithm = std::log(exponentials.sum);
    WriteRow<Form>(
        columns, y + r * columns, [=](int64_t, float at) { return at - largest - logarithm; }, row);
  }
}

template <typename Form>
__global__ void LogSoftmaxGradientRows(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> by_result(dy + r * columns, columns);
    const Row<Form, false> result(y + r * columns, columns);
    float own = 0.0f;
    ForEachElement<Form>(
        columns, [&](int64_t, float a) { own += a; }, by_result);
    const float sum = GroupReduce<Form::kThreads>(own, Sum());
    WriteRow<Form>(
        columns, dx + r * columns, [=](int64_t, float a, float b) { return a - Exp(b) * sum; }, by_result, result);
  }
}

struct Moments {
  float mean;
  float inverse_deviation;  // 1 / sqrt(variance + epsilon)
};

template <typename Form>
__device__ Moments RowMoments(const Row<Form>& row, int64_t columns, float epsilon) {
  const float count = static_cast<float>(columns);
  float sum = 0.0f;
  ForEachElement<Form>(
      columns, [&](int64_t, float x) { sum += x; }, row);
  const float mean = GroupReduce<Form::kThreads>(sum, Sum()) / count;
  float squares = 0.0f;
  ForEachElement<Form>(
      columns, [&](int64_t, float x) { squares += (x - mean) * (x - mean); }, row);
  squares = GroupReduce<Form::kThreads>(squares, Sum());
  return {mean, 1.0f / std::sqrt(squares / count + epsilon)};
}

template <typename Form>
__global__ void LayerNormRows(ConstReals x, const float* __restrict__ scale, const float* __restrict__ shift,
                              int64_t rows, int64_t columns, float epsilon, Reals y) {
  const Row<Form, false> scales(scale, columns);
  const Row<Form, false> shifts(shift, columns);
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const Moments moments = RowMoments(row, columns, epsilon);
    const auto normal = [=](int64_t, float at, float by, float to) {
      return (at - moments.mean) * moments.inverse_deviation * by + to;
    };
    WriteRow<Form>(columns, y + r * columns, normal, row, scales, shifts);
  }
}

// With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n mean(g n)) / deviation.
template <typename Form>
__global__ void LayerNormGradientRows(ConstReals dy, ConstReals x, const float* __restrict__ scale, int64_t rows,
                                      int64_t columns, float epsilon, Reals dx) {
  const Row<Form, false> scales(scale, columns);
  const float count = static_cast<float>(columns);
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const Row<Form> by_result(dy + r * columns, columns);
    const Moments moments = RowMoments(row, columns, epsilon);
    const float mean = moments.mean;
    const float inverse = moments.inverse_deviation;
    float sum = 0.0f;
    float product = 0.0f;
    const auto add = [&](int64_t, float at, float by, float scaled) {
      sum += by * scaled;
      product += by * scaled * ((at - mean) * inverse);
    };
    ForEachElement<Form>(columns, add, row, by_result, scales);
    sum = GroupReduce<Form::kThreads>(sum, Sum()) / count;
    product = GroupReduce<Form::kThreads>(product, Sum()) / count;
    const auto gradient = [=](int64_t, float at, float by, float scaled) {
      return (by * scaled - sum - (at - mean) * inverse * product) * inverse;
    };
    WriteRow<Form>(columns, dx + r * columns, gradient, row, by_result, scales);
  }
}

template <typename Form>
__global__ void MomentsOfRows(ConstReals x, int64_t rows, int64_t columns, float epsilon,
                              Moments* __restrict__ moments) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const Moments result = RowMoments(row, columns, epsilon);
    if (Form::Lane() == 0) moments[r] = result;
  }
}

// The values that LayerNormGradientScale sums over the rows.
struct NormalProduct {
  ConstReals dy;
  ConstReals x;
  const Moments* moments;

  __device__ float operator()(int64_t row, int64_t index) const {
    return dy[index] * ((x[index] - moments[row].mean) * moments[row].inverse_deviation);
  }
};

}  // namespace

void Softmax(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  WithRowForm(columns, AreAligned(x, y), [=](auto form) {
    using Form = decltype(form);
    Launch(SoftmaxRows<Form>, Form::Shape(rows), x, rows, columns, y);
  });
}

void SoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  WithRowForm(columns, AreAligned(dy, y, dx), [=](auto form) {
    using Form = decltype(form);
    Launch(SoftmaxGradientRows<Form>, Form::Shape(rows), dy, y, rows, columns, dx);
  });
}

void LogSoftmax(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  WithRowForm(columns, AreAligned(x, y), [=](auto form) {
    using Form = decltype(form);
    Launch(LogSoftmaxRows<Form>, Form::Shape(rows), x, rows, columns, y);
  });
}

void LogSoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  WithRowForm(columns, AreAligned(dy, y, dx), [=](auto form) {
    using Form = decltype(form);
    Launch(LogSoftmaxGradientRows<Form>, Form::Shape(rows), dy, y, rows, columns, dx);
  });
}

void LayerNorm(ConstReals x, const float* scale, const float* shift, int64_t rows, int64_t columns, float epsilon,
               Reals y) {
  WithRowForm(columns, AreAligned(x, scale, shift, y), [=](auto form) {
    using Form = decltype(form);
    Launch(LayerNormRows<Form>, Form::Shape(rows), x, scale, shift, rows, columns, epsilon, y);
  });
}

void LayerNormGradientInput(ConstReals dy, ConstReals x, const float* scale, int64_t rows, int64_t columns,
                            float epsilon, Reals dx) {
  WithRowForm(columns, AreAligned(dy, x, scale, dx), [=](auto form) {
    using Form = decltype(form);
    Launch(LayerNormGradientRows<Form>, Form::Shape(rows), dy, x, scale, rows, columns, epsilon, dx);
  });
}

void LayerNormGradientScale(ConstReals dy, ConstReals x, int64_t rows, int64_t columns, float epsilon, float* dscale) {
  const ColumnReduction reduction({1, rows, columns});
  ScratchLayout layout;
  const int64_t moments_at = layout.Add<Moments>(rows);
  const int64_t parts_at = layout.Add<float>(reduction.part_count());
  const ScratchMemory scratch(layout);
  Moments* const moments = scratch.At<Moments>(moments_at);
  WithRowForm(columns, AreAligned(x), [=](auto form) {
    using Form = decltype(form);
    Launch(MomentsOfRows<Form>, Form::Shape(rows), x, rows, columns, epsilon, moments);
  });
  reduction.Run<Sum>(NormalProduct{dy, x, moments}, 1.0f, scratch.At<float>(parts_at), dscale);
}

}  // namespace cleave::runtime
