// The largest element under a kernel. Its gradient goes to the element that was the maximum, the first of equals.

#include <limits>

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/pooling.h"
#include "ir/graph/ops/ranking.h"

namespace cleave::ir {
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
  ForEachLook(x.shape, y.shape, PoolingSlidingOf(evaluation), [&](size_t from, size_t to, int64_t) {
    if (RanksBefore(x.values[from], y.values[to])) y.values[to] = x.values[from];
  });
}

// Which tap of the kernel saw the maximum, rows * columns counted row-major; the first of equals. Taps are used, not
// places in the image, because they mean the same on every rank.

InferResult InferMaxPoolIndex(Types inputs, const Attributes& attributes) {
  InferResult result = InferPooling(inputs, attributes);
  if (TensorType* type = std::get_if<TensorType>(&result)) type->dtype = DType::kI32;
  return result;
}

Rule MaxPoolIndexRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return PoolingRule(inputs, output, attributes, {});
}

void EvaluateMaxPoolIndex(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  Tensor& index = evaluation.output;
  std::vector<double> largest(index.values.size(), -std::numeric_limits<double>::infinity());
  ForEachLook(x.shape, index.shape, PoolingSlidingOf(evaluation), [&](size_t from, size_t to, int64_t tap) {
    if (!RanksBefore(x.values[from], largest[to])) return;
    largest[to] = x.values[from];
    index.values[to] = static_cast<double>(tap);
  });
}

// (dy, index) to images of `size`: each element of dy goes to the element that tap `index` of its kernel saw.

InferResult InferMaxPoolGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 1, DType::kI32, "index")) return *error;
  return InferPoolingGradient(inputs, attributes);
}

Rule MaxPoolGradientRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return PoolingGradientRule(inputs, output, attributes, {{0}});
}

void EvaluateMaxPoolGradient(const Evaluation& evaluation) {
  const Tensor& dy = *evaluation.inputs[0];
  const std::vector<double>& index = evaluation.inputs[1]->values;
  Tensor& dx = evaluation.output;
  ForEachLook(dx.shape, dy.shape, PoolingGradientSlidingOf(evaluation), [&](size_t to, size_t from, int64_t tap) {
    if (index[from] == static_cast<double>(tap)) dx.values[to] += dy.values[from];
  });
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
                      .evaluate = EvaluateMaxPool,
                      .resize = ResizePooling,
                      .batch = BatchPooling,
                      .calls = [](const CallSite& site) { return PoolingCall(site, "MaxPool"); }};
}

OpDefinition DefineMaxPoolIndex() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = PoolingSignature({{.name = "x"}}),
                      .summary = "the tap of the kernel that sees the largest element",
                      .infer = InferMaxPoolIndex,
                      .rule = MaxPoolIndexRule,
                      .flops = PoolingFlops,
                      .evaluate = EvaluateMaxPoolIndex,
                      .resize = ResizePooling,
                      .calls = [](const CallSite& site) { return PoolingCall(site, "MaxPoolIndex"); }};
}

OpDefinition DefineMaxPoolGradient() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .signature = PoolingSignature({{.name = "dy"}, {.name = "index"}, RequiredAttribute(attribute::kImageSize)}),
      .summary = "gradient of max_pool",
      .infer = InferMaxPoolGradient,
      .rule = MaxPoolGradientRule,
      .flops = PoolingGradientFlops,
      .evaluate = EvaluateMaxPoolGradient,
      .resize = ResizePooling,
      .calls = [](const CallSite& site) { return PoolingGradientCall(site, "MaxPoolGradient"); }};
}

}  // namespace cleave::ir
