#include <algorithm>
#include <limits>

#include "ir/ops/define.h"
#include "ir/ops/pooling.h"

namespace cleave {
namespace {

Rule MaxPoolRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return PoolingRule(inputs, output, attributes, {});
}

// The gradient goes to the element that was the maximum, the first of equals.
Gradients MaxPoolGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  Attributes attributes = PoolingAttributes(op.attributes);
  const OpId index = builder.Add(OpKind::kMaxPoolIndex, {x}, attributes, op.name + ".index");
  const Shape& images = builder.type(x).shape;
  attributes.Set(attribute::kImageSize, std::vector<int64_t>{images[2], images[3]});
  return {builder.Add(OpKind::kMaxPoolGradient, {dy, index}, attributes, GradientName(op, "x"))};
}

void EvaluateMaxPool(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  Tensor& y = evaluation.output;
  y.values.assign(y.values.size(), -std::numeric_limits<double>::infinity());
  ForEachLook(x.shape, y.shape, PoolingSlidingOf(evaluation),
              [&](size_t from, size_t to, int64_t) { y.values[to] = std::max(y.values[to], x.values[from]); });
}

}  // namespace

OpDefinition DefineMaxPool() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = PoolingSignature({{.name = "x"}}),
                      .summary = "the largest element under a kernel that slides over images; padding never counts",
                      .infer = InferPooling,
                      .rule = MaxPoolRule,
                      .gradient = MaxPoolGradients,
                      .flops = PoolingFlops,
                      .evaluate = EvaluateMaxPool};
}

}  // namespace cleave
