// What the implementations of convolutions share. Inside of runtime/math only.
#ifndef CLEAVE_RUNTIME_MATH_CONVOLUTION_SHAPE_H_
#define CLEAVE_RUNTIME_MATH_CONVOLUTION_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "runtime/math/convolution.h"

namespace cleave::runtime {

struct ConvolutionShape {
  ConvolutionSizes sizes;
  Sliding rows;
  Sliding columns;
  ImageBlocks blocks = {};
};

// Which of x, filter and y is made from the other two.
enum class Direction { kForward, kGradientInput, kGradientFilter };

inline bool SameSliding(const Sliding& a, const Sliding& b) {
  return a.input.size == b.input.size && a.output.size == b.output.size && a.kernel == b.kernel &&
         a.stride == b.stride && a.dilation == b.dilation && a.first() == b.first();
}

inline bool SameShape(const ConvolutionShape& a, const ConvolutionShape& b) {
  return a.sizes.samples == b.sizes.samples && a.sizes.channels == b.sizes.channels &&
         a.sizes.filters == b.sizes.filters && a.sizes.filter_channels == b.sizes.filter_channels &&
         SameSliding(a.rows, b.rows) && SameSliding(a.columns, b.columns) && a.blocks.x == b.blocks.x &&
         a.blocks.y == b.blocks.y;
}

// What the kernel looks at along one dimension: elements [begin, end) of the input, and padding on both sides of them.
struct Side {
  int64_t begin;
  int64_t end;
  int64_t padding_before;
  int64_t padding_behind;

  explicit Side(const Sliding& sliding)
      : begin(std::max<int64_t>(sliding.first(), 0)),
        end(std::min(sliding.end(), sliding.input.size)),
        padding_before(std::max<int64_t>(-sliding.first(), 0)),
        padding_behind(std::max<int64_t>(sliding.end() - sliding.input.size, 0)) {}

  int64_t size() const { return end - begin; }
};

// Whether any product of an image's element and a weight is part of a result.
inline bool HasProducts(const ConvolutionShape& shape) {
  const ConvolutionSizes& sizes = shape.sizes;
  if (sizes.samples == 0 || sizes.channels == 0 || sizes.filters == 0 || sizes.filter_channels == 0) return false;
  if (shape.rows.output.size == 0 || shape.columns.output.size == 0) return false;
  return Side(shape.rows).size() > 0 && Side(shape.columns).size() > 0;
}

inline int64_t ElementsOfX(const ConvolutionShape& shape) {
  return shape.sizes.samples * shape.sizes.channels * shape.rows.input.size * shape.columns.input.size;
}
inline int64_t ElementsOfFilter(const ConvolutionShape& shape) {
  return shape.sizes.filters * shape.sizes.filter_channels * shape.rows.kernel * shape.columns.kernel;
}
inline int64_t ElementsOfY(const ConvolutionShape& shape) {
  return shape.sizes.samples * shape.sizes.filters * shape.rows.output.size * shape.columns.output.size;
}

// Two operations for each weight that is under a place of y, padding included; the same in all directions.
inline double FlopsOf(const ConvolutionShape& shape) {
  const int64_t weights = shape.sizes.filter_channels * shape.rows.kernel * shape.columns.kernel;
  return 2.0 * static_cast<double>(ElementsOfY(shape)) * static_cast<double>(weights);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CONVOLUTION_SHAPE_H_
