// The mean under a kernel; padding counts as zeros, so the divisor is the size of the kernel at every place.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/pooling.h"

namespace cleave::ir {
namespace {

Rule AvgPoolRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return PoolingRule(inputs, output, attributes, {{0}});
}

Gradients AvgPoolGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = PoolingAttributes(op.attributes);
  const Shape& images = builder.type(op.inputs[0]).shape;
  attributes.Set(attribute::kImageSize, std::vector<int64_t>{images[2], images[3]});
  return {builder.Add(OpKind::kAvgPoolGradient, {dy}, attributes, GradientName(op, "x"))};
}

void EvaluateAvgPool(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  Tensor& y = evaluation.output;
  const LocalSliding2d sliding = PoolingSlidingOf(evaluation);
  const double count = static_cast<double>(sliding.rows.sliding.kernel * sliding.columns.sliding.kernel);
  ForEachLook(x.shape, y.shape, sliding,
              [&](size_t from, size_t to, int64_t) { y.values[to] += x.values[from] / count; });
}

// dy to images of `size`: each element of dy is shared evenly by those under its kernel, padding included.

Rule AvgPoolGradientRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return PoolingGradientRule(inputs, output, attributes, {{0}});
}

void EvaluateAvgPoolGradient(const Evaluation& evaluation) {
  const Tensor& dy = *evaluation.inputs[0];
  Tensor& dx = evaluation.output;
  const LocalSliding2d sliding = PoolingGradientSlidingOf(evaluation);
  const double count = static_cast<double>(sliding.rows.sliding.kernel * sliding.columns.sliding.kernel);
  ForEachLook(dx.shape, dy.shape, sliding,
              [&](size_t to, size_t from, int64_t) { dx.values[to] += dy.values[from] / count; });
}

}  // namespace

OpDefinition DefineAvgPool() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = PoolingSignature({{.name = "x"}}),
                      .summary = "the mean under a kernel that slides over images; padding counts as zeros",
                      .infer = InferPooling,
                      .rule = AvgPoolRule,
                      .gradient = AvgPoolGradients,
                      .flops = PoolingFlops,
                      .evaluate = EvaluateAvgPool,
                      .resize = ResizePooling,
                      .batch = BatchPooling,
                      .calls = [](const CallSite& site) { return PoolingCall(site, "AvgPool"); }};
}

OpDefinition DefineAvgPoolGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = PoolingSignature({{.name = "dy"}, RequiredAttribute(attribute::kImageSize)}),
                      .summary = "gradient of avg_pool",
                      .infer = InferPoolingGradient,
                      .rule = AvgPoolGradientRule,
                      .flops = PoolingGradientFlops,
                      .evaluate = EvaluateAvgPoolGradient,
                      .resize = ResizePooling,
                      .calls = [](const CallSite& site) { return PoolingGradientCall(site, "AvgPoolGradient"); }};
}

}  // namespace cleave::ir
