#include "ir/ops/define.h"
#include "ir/ops/losses.h"

namespace cleave {
namespace {

void EvaluateMseGradient(const Evaluation& evaluation) {
  const Tensor& prediction = *evaluation.inputs[0];
  const Tensor& target = *evaluation.inputs[1];
  const double share = evaluation.inputs[2]->values[0] / GlobalCount(evaluation, prediction.shape.size());
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    const double difference = prediction.values[i] - target.values[i];
    evaluation.output.values[i] = 2 * difference * share;
  }
}

}  // namespace

OpDefinition DefineMseGradient() {
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .callable = false,
                      .signature = {{.name = "prediction"}, {.name = "target"}, {.name = "dloss"}},
                      .summary = "2 (prediction - target) * dloss / count",
                      .infer = InferRegressionGradient,
                      .rule = RegressionGradientRule,
                      .flops = FlopsPerElement<3>,
                      .evaluate = EvaluateMseGradient};
}

}  // namespace cleave
