// Pooling: the largest element, or the mean, under a kernel that slides over images. x [planes, rows.input,
// columns.input] makes y [planes, rows.output, columns.output], a plane being one channel of one sample; the results
// must not overlap inputs. Sizes may be 0. Planes may lie in blocks of channels, as `blocks` says.
#ifndef CLEAVE_RUNTIME_KERNELS_POOLING_H_
#define CLEAVE_RUNTIME_KERNELS_POOLING_H_

#include <cstdint>

#include "runtime/mesh/image_blocks.h"
#include "runtime/mesh/sliding.h"

namespace cleave::runtime {

void MaxPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks& blocks = {});
// The tap of the kernel that saw the largest element, counted row by row; the first of equal ones. A NaN is larger than
// all other values.
void MaxPoolIndex(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, int32_t* index,
                  const ImageBlocks& blocks = {});
// Each element of dy goes to the element that tap `index` saw.
void MaxPoolGradient(const float* dy, const int32_t* index, int64_t planes, const Sliding& rows, const Sliding& columns,
                     float* dx, const ImageBlocks& blocks = {});

// Padding counts as zeros: all sums are divided by the size of the kernel.
void AvgPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks& blocks = {});
void AvgPoolGradient(const float* dy, int64_t planes, const Sliding& rows, const Sliding& columns, float* dx,
                     const ImageBlocks& blocks = {});

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_POOLING_H_
