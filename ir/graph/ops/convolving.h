// What a convolution and its two gradients share: each of images x [n, (g c), h, w], filter [(g o), c, kh, kw] and
// result y [n, (g o), h', w'] is made from the other two. Inside of ir/graph/ops only.
//
// Channels come in g groups: o filters of a group see its c channels. The letter g is left out where there is one
// group.
#ifndef CLEAVE_IR_GRAPH_OPS_CONVOLVING_H_
#define CLEAVE_IR_GRAPH_OPS_CONVOLVING_H_

#include <map>
#include <string>
#include <vector>

#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/sliding.h"

namespace cleave::ir {

struct ConvolutionShapes {
  Shape x;
  Shape filter;
  Shape y;
};

// Attributes `stride`, `padding`, `dilation`, `groups`, the internal `result`, and those of `first`.
std::vector<Argument> ConvolutionSignature(std::vector<Argument> first);

// Only these four, for the gradients of an op that has them.
Attributes ConvolutionAttributes(const Attributes& attributes);

// How a kernel of `rows` x `columns` slides. REQUIRES: CheckConvolution.
Sliding2d ConvolutionSliding(const Attributes& attributes, int64_t rows, int64_t columns);

// The errors that the four attributes can have.
std::optional<OpError> CheckConvolution(const Attributes& attributes);

// The rule of the op that makes one of the three from the other two, its inputs: y from (x, filter), x from (y,
// filter), filter from (y, x). What is not in the output is reduced; rows and columns that the rule does not cut itself
// are read in windows.
enum class ConvolutionOutput { kX, kFilter, kY };
Rule ConvolutionRule(ConvolutionOutput output, const ConvolutionShapes& shapes, const Attributes& attributes);

// Two operations per weight of `filter` and place of the kernel in `y`, padding included.
Flops ConvolutionFlops(const Shape& y, const Shape& filter);

// Calls function(sizes, rows, columns, inputs…, result), for the op that makes one of the three from the others. The
// places of all three are given.
struct ConvolutionTensors {
  int x = 0;
  int filter = 1;
  int y = kResult;
};
std::vector<KernelCall> ConvolutionCall(const CallSite& site, std::string function, const ConvolutionTensors& tensors);

// The memory that it takes on a CPU: the three tensors in the blocked layouts of oneDNN, of as many samples as are
// convolved at once. Images that lie in blocks of channels are given as they lie: nothing is taken for them. It is what
// convolutions with one group take, and the most that others do (tests/properties/convolution_memory_test.cc).
Need ConvolutionNeed(ConvolutionOutput output, const TensorType& x, const TensorType& filter, const TensorType& y,
                     const Attributes& attributes);

// Products x * filter that y is a sum of: `count` neighbours of y, the elements of x that lie `stride` apart, and one
// of the filter. The first three are indexes into the local tensors.
struct ProductRun {
  size_t x = 0;
  size_t filter = 0;
  size_t y = 0;
  size_t count = 0;
  size_t stride = 1;
};

// Calls visit(ProductRun) until every product was in one. `shapes` are local.
template <typename Visit>
void ForEachProductRun(const ConvolutionShapes& shapes, const LocalSliding2d& sliding, Visit visit) {
  const int64_t channels = shapes.filter[1];
  if (channels == 0 || ElementCount(shapes.x) == 0) return;
  const int64_t groups = shapes.x[1] / channels;
  const int64_t filters = groups == 0 ? 0 : shapes.y[1] / groups;
  const int64_t x_size = shapes.x[2] * shapes.x[3];
  const int64_t y_size = shapes.y[2] * shapes.y[3];
  const int64_t kernel = shapes.filter[2] * shapes.filter[3];
  for (int64_t n = 0; n < shapes.x[0]; ++n) {
    for (int64_t filter = 0; filter < groups * filters; ++filter) {
      const int64_t y = (n * shapes.y[1] + filter) * y_size;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t x = (n * shapes.x[1] + filter / filters * channels + c) * x_size;
        const int64_t weight = (filter * channels + c) * kernel;
        sliding.ForEachRun([&](int64_t input, int64_t output, int64_t tap, int64_t count) {
          visit(ProductRun{.x = static_cast<size_t>(x + input),
                           .filter = static_cast<size_t>(weight + tap),
                           .y = static_cast<size_t>(y + output),
                           .count = static_cast<size_t>(count),
                           .stride = static_cast<size_t>(sliding.columns.sliding.stride)});
        });
      }
    }
  }
}

// The local sliding of the op that makes `output`, in an evaluation.
LocalSliding2d ConvolutionSlidingOf(const Evaluation& evaluation, ConvolutionOutput output,
                                    const ConvolutionShapes& local);

// For OpDefinition::resize.
Attributes ResizeConvolution(const Attributes& attributes, const Rule& resized);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_CONVOLVING_H_
