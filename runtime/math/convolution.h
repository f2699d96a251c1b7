// Convolutions of local images and their gradients. The implementation is linked: runtime/math/onednn or
// runtime/math/cudnn.
//
//   // conv1[n, 32, 28, 28] from image[n, 1, 28, 28] and conv1_weight[32, 1, 3, 3]
//   Conv2d({.samples = n, .channels = 1, .filters = 32, .filter_channels = 1},
//          {.input = {0, 28}, .output = {0, 28}, .kernel = 3, .padding = 1},
//          {.input = {0, 28}, .output = {0, 28}, .kernel = 3, .padding = 1}, image, conv1_weight, conv1);
//
// x [samples, channels, rows, columns] and filter [filters, filter_channels, rows, columns] make y [samples, filters,
// rows, columns]. All are row-major and contiguous, and do not overlap. Products of 16 bits are added up in f32. Any
// size may be 0: sums of nothing are zeros.
#ifndef CLEAVE_RUNTIME_MATH_CONVOLUTION_H_
#define CLEAVE_RUNTIME_MATH_CONVOLUTION_H_

#include <cstdint>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/mesh/image_blocks.h"
#include "runtime/mesh/sliding.h"

namespace cleave::runtime {

struct ConvolutionSizes {
  int64_t samples = 0;
  int64_t channels = 0;         // Of x.
  int64_t filters = 0;          // The channels of y.
  int64_t filter_channels = 0;  // Channels that a filter sees: there are channels / filter_channels groups.
};

// In is float, BFloat16 or Float16, and Out is In or float. What a library needs for these sizes is
// prepared when a thread first uses them, and kept.
template <typename In, typename Out>
void Conv2d(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* x, const In* filter,
            Out* y, const ImageBlocks& blocks = {});
template <typename In, typename Out>
void Conv2dGradientInput(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                         const In* filter, Out* dx, const ImageBlocks& blocks = {});

// The gradient by the filter: the sum over the local samples and places.
template <typename In, typename Out>
void Conv2dGradientFilter(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                          const In* x, Out* dfilter, const ImageBlocks& blocks = {});

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CONVOLUTION_H_
