// cross_entropy where the logarithm of each row's sum of exponentials is known: log_sum - logits[label]. Where the
// classes are cut, a row is counted by the rank that holds its label's logit.

#include "ir/ops/define.h"
#include "ir/ops/losses.h"

namespace cleave {
namespace {

InferResult InferLabelLoss(Types inputs, const Attributes&) {
  if (auto error = CheckClassification(inputs)) return *error;
  if (auto error = CheckPerRow(inputs, 2, "log_sum")) return *error;
  if (auto error = CheckMask(inputs, 3)) return *error;
  return TensorType{DType::kF32, {}};
}

Rule LabelLossRule(Types inputs, const TensorType&, const Attributes&) {
  RowsRule rule{.inputs = {RowPart::kAll, RowPart::kLeading, RowPart::kPerRow},
                .output = RowPart::kNone,
                .leading = FactorKind::kReduced,
                .last = FactorKind::kReduced};
  if (inputs.size() > 3) rule.inputs.push_back(RowPart::kFirst);
  return rule.For(inputs[0].shape);
}

void EvaluateLabelLoss(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Tensor& label = *evaluation.inputs[1];
  const std::vector<double>& log_sum = evaluation.inputs[2]->values;
  const int64_t first_class = evaluation.ranges.back().begin;
  double sum = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t truth = static_cast<int64_t>(label.values[static_cast<size_t>(r)]) - first_class;
    if (truth < 0 || truth >= rows.length) continue;
    const double logit = evaluation.inputs[0]->values[static_cast<size_t>(r * rows.length + truth)];
    sum += MaskAt(evaluation, label.shape, r, 3) * (log_sum[static_cast<size_t>(r)] - logit);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, label.shape.size());
}

}  // namespace

OpDefinition DefineLabelLoss() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "logits"},
                                    {.name = "label"},
                                    {.name = "log_sum"},
                                    {.name = "mask", .kind = ArgumentKind::kOptionalTensor}},
                      .summary = "mean of log_sum - logits[label]",
                      .infer = InferLabelLoss,
                      .rule = LabelLossRule,
                      .flops = FlopsPerRow<2>,
                      .evaluate = EvaluateLabelLoss,
                      .choices = LabelChoices};
}

}  // namespace cleave
