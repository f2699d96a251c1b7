// Convolutions by cuDNN, if its headers are there when this is compiled.
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_CUDNN_CUH_
#define CLEAVE_RUNTIME_MATH_CUDNN_CUDNN_CUH_

#include "runtime/math/convolution_shape.h"
#include "runtime/math/cudnn/handle.h"

namespace cleave::runtime {

// All three tensors are f32, or all three of one type of 16 bits; exact_in_tf32: f32 values that are numbers of 16
// bits. The tensor that `direction` makes is written. Returns false, and does nothing, where the library has no
// algorithm. REQUIRES: there are products.
bool ConvolveByLibrary(Direction direction, const ConvolutionShape& shape, bool exact_in_tf32, float* x, float* filter,
                       float* y);
bool ConvolveByLibrary(Direction direction, const ConvolutionShape& shape, BFloat16* x, BFloat16* filter, BFloat16* y);
bool ConvolveByLibrary(Direction direction, const ConvolutionShape& shape, Float16* x, Float16* filter, Float16* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_CUDNN_CUH_
