// The body of `op soft_cap` of custom_op.model for GPUs: the views hold pointers of the device, and the functions
// launch kernels.
#ifndef SOFT_CAP_CUH_
#define SOFT_CAP_CUH_

#include <cmath>

#include "runtime/custom/view.h"
#include "runtime/device/cuda/cuda.h"

namespace soft_cap_kernels {

using cleave::runtime::ElementStride;
using cleave::runtime::FirstElement;

__global__ void Forward(int64_t count, const float* x, float cap, float* y) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) y[i] = cap * std::tanh(x[i] / cap);
}

__global__ void Backward(int64_t count, const float* dy, const float* x, float cap, float* dx) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const float t = std::tanh(x[i] / cap);
    dx[i] = dy[i] * (1 - t * t);
  }
}

}  // namespace soft_cap_kernels

// y = cap * tanh(x / cap)
inline void soft_cap(View<const float> x, float cap, View<float> y) {
  using namespace cleave::runtime;
  Launch(soft_cap_kernels::Forward, ForElements(x.size()), x.size(), x.data, cap, y.data);
}

// dx = dy * (1 - tanh(x / cap)^2)
inline void soft_cap_backward(View<const float> dy, View<const float> x, float cap, View<float> dx) {
  using namespace cleave::runtime;
  Launch(soft_cap_kernels::Backward, ForElements(x.size()), x.size(), dy.data, x.data, cap, dx.data);
}

#endif  // SOFT_CAP_CUH_
