// The bodies of the ops of custom_ops.model.
#ifndef CUSTOM_OPS_H_
#define CUSTOM_OPS_H_

#include <cmath>

#include "runtime/custom/view.h"

inline void scale_rows(View<const float> x, View<const float> scale, float factor, View<float> y) {
  const int64_t columns = x.dimension(1);
  for (int64_t i = 0; i < x.size(); ++i) y[i] = factor * x[i] * scale[i % columns];
}

inline void scale_rows_backward_x(View<const float> dy, View<const float> x, View<const float> scale, float factor,
                                  View<float> dx) {
  const int64_t columns = x.dimension(1);
  for (int64_t i = 0; i < dx.size(); ++i) dx[i] = factor * dy[i] * scale[i % columns];
}

inline void scale_rows_backward_scale(View<const float> dy, View<const float> x, View<const float>, float factor,
                                      View<float> dscale) {
  const int64_t columns = x.dimension(1);
  for (int64_t j = 0; j < columns; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < x.dimension(0); ++i) sum += factor * dy[i * columns + j] * x[i * columns + j];
    dscale[j] = sum;
  }
}

inline void centre(View<const float> x, View<float> y) {
  const int64_t columns = x.shape.back();
  for (int64_t row = 0; row < x.size() / columns; ++row) {
    float mean = 0;
    for (int64_t j = 0; j < columns; ++j) mean += x[row * columns + j] / static_cast<float>(columns);
    for (int64_t j = 0; j < columns; ++j) y[row * columns + j] = x[row * columns + j] - mean;
  }
}

// The projection is symmetric: its gradient is itself.
inline void centre_backward(View<const float> dy, View<const float>, View<float> dx) { centre(dy, dx); }

inline float WeightOf(const View<const float>& x, int64_t column, int64_t period) {
  return 1.0f + static_cast<float>((x.begin[1] + column) % period);
}

inline void weighed_square(View<const float> x, int64_t period, View<float> y) {
  const int64_t columns = x.dimension(1);
  for (int64_t i = 0; i < x.dimension(0); ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += WeightOf(x, j, period) * x[i * columns + j] * x[i * columns + j];
    y[i] = sum;
  }
}

inline void weighed_square_backward(View<const float> dy, View<const float> x, int64_t period, View<float> dx) {
  const int64_t columns = x.dimension(1);
  for (int64_t i = 0; i < x.size(); ++i) {
    dx[i] = 2 * dy[i / columns] * WeightOf(x, i % columns, period) * x[i];
  }
}

inline void soft_cap(View<const float> x, float cap, View<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = cap * std::tanh(x[i] / cap);
}

inline void soft_cap_backward(View<const float> dy, View<const float> x, float cap, View<float> dx) {
  for (int64_t i = 0; i < x.size(); ++i) {
    const float t = std::tanh(x[i] / cap);
    dx[i] = dy[i] * (1 - t * t);
  }
}

#endif  // CUSTOM_OPS_H_
