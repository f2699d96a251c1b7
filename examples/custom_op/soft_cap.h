// The body of `op soft_cap` of custom_op.model.
#ifndef SOFT_CAP_H_
#define SOFT_CAP_H_

#include <cmath>

#include "runtime/custom/view.h"

// y = cap * tanh(x / cap)
inline void soft_cap(View<const float> x, float cap, View<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = cap * std::tanh(x[i] / cap);
}

// dx = dy * (1 - tanh(x / cap)^2)
inline void soft_cap_backward(View<const float> dy, View<const float> x, float cap, View<float> dx) {
  for (int64_t i = 0; i < x.size(); ++i) {
    const float t = std::tanh(x[i] / cap);
    dx[i] = dy[i] * (1 - t * t);
  }
}

#endif  // SOFT_CAP_H_
