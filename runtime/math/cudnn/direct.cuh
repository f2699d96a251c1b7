// Convolutions by kernels of the runtime, product by product, for shapes that cuDNN has no algorithm for and for
// machines without cuDNN.
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_DIRECT_CUH_
#define CLEAVE_RUNTIME_MATH_CUDNN_DIRECT_CUH_

#include "runtime/math/convolution_shape.h"

namespace cleave::runtime {

// In is float, BFloat16 or Float16, and Out is In or float. Sums are made in float, each in one order.
template <typename In, typename Out>
void DirectForward(const ConvolutionShape& shape, const In* x, const In* filter, Out* y);
template <typename In, typename Out>
void DirectGradientInput(const ConvolutionShape& shape, const In* dy, const In* filter, Out* dx);
template <typename In, typename Out>
void DirectGradientFilter(const ConvolutionShape& shape, const In* dy, const In* x, Out* dfilter);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_DIRECT_CUH_
