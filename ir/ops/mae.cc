#include <cmath>

#include "ir/ops/losses.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients MaeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return RegressionGradients(builder, op, dy, "mae_gradient");
}

void EvaluateMae(const Evaluation& evaluation) {
  const Tensor& prediction = *evaluation.inputs[0];
  const Tensor& target = *evaluation.inputs[1];
  double sum = 0;
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    const double difference = prediction.values[i] - target.values[i];
    sum += MaskAt(evaluation, prediction.shape, static_cast<int64_t>(i)) * std::abs(difference);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, prediction.shape.size());
}

}  // namespace

OpDefinition DefineMae() {
  return OpDefinition{.name = "mae",
                      .op_class = OpClass::kReduction,
                      .signature = LossSignature("prediction", "target"),
                      .summary = "mean of the absolute differences",
                      .infer = InferRegression,
                      .rule = RegressionRule,
                      .gradient = MaeGradients,
                      .flops = FlopsPerInputElement<3>,
                      .evaluate = EvaluateMae};
}

}  // namespace cleave
