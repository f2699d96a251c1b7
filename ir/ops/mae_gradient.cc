#include "ir/ops/define.h"
#include "ir/ops/losses.h"

namespace cleave {
namespace {

void EvaluateMaeGradient(const Evaluation& evaluation) {
  const Tensor& prediction = *evaluation.inputs[0];
  const Tensor& target = *evaluation.inputs[1];
  const double share = evaluation.inputs[2]->values[0] / GlobalCount(evaluation, prediction.shape.size());
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    const double difference = prediction.values[i] - target.values[i];
    evaluation.output.values[i] = (difference > 0 ? 1.0 : difference < 0 ? -1.0 : 0.0) * share;
  }
}

}  // namespace

OpDefinition DefineMaeGradient() {
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .callable = false,
                      .signature = {{.name = "prediction"}, {.name = "target"}, {.name = "dloss"}},
                      .summary = "sign(prediction - target) * dloss / count",
                      .infer = InferRegressionGradient,
                      .rule = RegressionGradientRule,
                      .flops = FlopsPerElement<3>,
                      .evaluate = EvaluateMaeGradient};
}

}  // namespace cleave
