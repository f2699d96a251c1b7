// What poolings of images [n, c, h, w] and their gradients share. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_POOLING_H_
#define CLEAVE_IR_GRAPH_OPS_POOLING_H_

#include <map>
#include <string>
#include <vector>

#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/sliding.h"

namespace cleave::ir {

// `first`, then kernel, stride (none: the kernel's) and padding.
std::vector<Argument> PoolingSignature(std::vector<Argument> first);

// Only these three, for the gradients of an op that has them.
Attributes PoolingAttributes(const Attributes& attributes);

// How the kernel slides. REQUIRES: the attributes were checked.
Sliding2d PoolingSliding(const Attributes& attributes);

// For OpDefinition::infer of poolings, without the dtype of the result: images to their shape after sliding.
InferResult InferPooling(Types inputs, const Attributes& attributes);

// For OpDefinition::infer of gradients: inputs of the shape that images of attribute `size` have after sliding, to such
// images.
InferResult InferPoolingGradient(Types inputs, const Attributes& attributes);

// Factors n, c, h, w, all parallel; the images' rows and columns are read in windows.
Rule PoolingRule(Types inputs, const TensorType& output, const Attributes& attributes, LinearGroups linear);
// The same for images that are made from inputs of one shape, which are read in windows.
Rule PoolingGradientRule(Types inputs, const TensorType& output, const Attributes& attributes, LinearGroups linear);

// For OpDefinition::resize of poolings and their gradients.
Attributes ResizePooling(const Attributes& attributes, const Rule& resized);

// One operation per tap at each place of the kernel.
Flops PoolingFlops(Types inputs, const TensorType& output, const Attributes& attributes);
Flops PoolingGradientFlops(Types inputs, const TensorType& output, const Attributes& attributes);

// For OpDefinition::batch: elements become further samples.
OpId BatchPooling(Lift& lift);

// function(inputs…, planes, rows, columns, result)
std::vector<KernelCall> PoolingCall(const CallSite& site, std::string function);
std::vector<KernelCall> PoolingGradientCall(const CallSite& site, std::string function);

LocalSliding2d PoolingSlidingOf(const Evaluation& evaluation);
LocalSliding2d PoolingGradientSlidingOf(const Evaluation& evaluation);

// Calls visit(image, output, tap) for every place at which an output element looks at one of the images; the first two
// are indexes into the local tensors.
template <typename Visit>
void ForEachLook(const Shape& images, const Shape& outputs, const LocalSliding2d& sliding, Visit visit) {
  for (int64_t plane = 0; plane < images[0] * images[1]; ++plane) {
    const int64_t image = plane * images[2] * images[3];
    const int64_t output = plane * outputs[2] * outputs[3];
    sliding.ForEachTap([&](int64_t from, int64_t to, int64_t tap) { visit(image + from, output + to, tap); });
  }
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_POOLING_H_
