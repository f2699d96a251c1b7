// dy to images of `size`: each element of dy is shared evenly by those under its kernel, padding included.

#include "ir/ops/define.h"
#include "ir/ops/pooling.h"

namespace cleave {
namespace {

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

OpDefinition DefineAvgPoolGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = PoolingSignature({{.name = "dy"}, RequiredAttribute(attribute::kImageSize)}),
                      .summary = "gradient of avg_pool",
                      .infer = InferPoolingGradient,
                      .rule = AvgPoolGradientRule,
                      .flops = PoolingGradientFlops,
                      .evaluate = EvaluateAvgPoolGradient};
}

}  // namespace cleave
