#include "ir/ops/losses.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients MseGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return RegressionGradients(builder, op, dy, "mse_gradient");
}

void EvaluateMse(const Evaluation& evaluation) {
  const Tensor& prediction = *evaluation.inputs[0];
  const Tensor& target = *evaluation.inputs[1];
  double sum = 0;
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    const double difference = prediction.values[i] - target.values[i];
    sum += MaskAt(evaluation, prediction.shape, static_cast<int64_t>(i)) * difference * difference;
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, prediction.shape.size());
}

}  // namespace

OpDefinition DefineMse() {
  return OpDefinition{.name = "mse",
                      .op_class = OpClass::kReduction,
                      .signature = LossSignature("prediction", "target"),
                      .summary = "mean of the squared differences",
                      .infer = InferRegression,
                      .rule = RegressionRule,
                      .gradient = MseGradients,
                      .flops = FlopsPerInputElement<3>,
                      .evaluate = EvaluateMse};
}

}  // namespace cleave
