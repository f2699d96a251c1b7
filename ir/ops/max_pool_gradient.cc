// (dy, index) to images of `size`: each element of dy goes to the element that tap `index` of its kernel saw.

#include "ir/ops/define.h"
#include "ir/ops/pooling.h"

namespace cleave {
namespace {

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

OpDefinition DefineMaxPoolGradient() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .signature = PoolingSignature({{.name = "dy"}, {.name = "index"}, RequiredAttribute(attribute::kImageSize)}),
      .summary = "gradient of max_pool",
      .infer = InferMaxPoolGradient,
      .rule = MaxPoolGradientRule,
      .flops = PoolingGradientFlops,
      .evaluate = EvaluateMaxPoolGradient};
}

}  // namespace cleave
