// cross_entropy_gradient where the logarithm of each row's sum of exponentials is known:
// (exp(logits - log_sum) - one_hot(label)) * dloss / count, zeros in rows whose label is no class.

#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/losses.h"

namespace cleave {
namespace {

InferResult InferLabelLossGradient(Types inputs, const Attributes&) {
  if (auto error = CheckClassification(inputs)) return *error;
  if (auto error = CheckPerRow(inputs, 2, "log_sum")) return *error;
  if (auto error = CheckSameShape({inputs[3], TensorType{}}, 0, 1, "dloss")) return *error;
  return inputs[0];
}

Rule LabelLossGradientRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kLeading, RowPart::kPerRow, RowPart::kNone},
                  .last = FactorKind::kParallel,
                  .linear = {{3}}}
      .For(inputs[0].shape);
}

void EvaluateLabelLossGradient(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Tensor& label = *evaluation.inputs[1];
  const FactorRange& classes = evaluation.ranges.back();
  const double share = evaluation.inputs[3]->values[0] / GlobalCount(evaluation, label.shape.size());
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* logits = evaluation.inputs[0]->values.data() + r * rows.length;
    double* gradient = evaluation.output.values.data() + r * rows.length;
    const int64_t truth = static_cast<int64_t>(label.values[static_cast<size_t>(r)]);
    if (truth < 0 || truth >= classes.global) continue;
    const double log_sum = evaluation.inputs[2]->values[static_cast<size_t>(r)];
    for (int64_t c = 0; c < rows.length; ++c) {
      gradient[c] = share * (std::exp(logits[c] - log_sum) - (classes.begin + c == truth ? 1 : 0));
    }
  }
}

}  // namespace

OpDefinition DefineLabelLossGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "logits"}, {.name = "label"}, {.name = "log_sum"}, {.name = "dloss"}},
                      .summary = "(exp(logits - log_sum) - one_hot(label)) * dloss / count",
                      .infer = InferLabelLossGradient,
                      .rule = LabelLossGradientRule,
                      .flops = FlopsPerElement<15>,
                      .evaluate = EvaluateLabelLossGradient,
                      .choices = LabelChoices};
}

}  // namespace cleave
