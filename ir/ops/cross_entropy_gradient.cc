// (softmax(logits) - one_hot(label)) * dloss / count; zeros in rows whose label is no class.

#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/losses.h"
#include "ir/ops/row_statistics.h"

namespace cleave {
namespace {

InferResult InferCrossEntropyGradient(Types inputs, const Attributes&) {
  if (auto error = CheckClassification(inputs)) return *error;
  if (auto error = CheckSameShape({inputs[2], TensorType{}}, 0, 1, "dloss")) return *error;
  return inputs[0];
}

Rule CrossEntropyGradientRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kLeading, RowPart::kNone}, .linear = {{2}}}.For(inputs[0].shape);
}

OpId DistributeCrossEntropyGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId log_sum = RowLogSumExp(builder, op.inputs[0], op.name);
  return builder.Add(OpKind::kLabelLossGradient, {op.inputs[0], op.inputs[1], log_sum, op.inputs[2]}, {}, op.name);
}

void EvaluateCrossEntropyGradient(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Tensor& label = *evaluation.inputs[1];
  const double share = evaluation.inputs[2]->values[0] / GlobalCount(evaluation, label.shape.size());
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* logits = evaluation.inputs[0]->values.data() + r * rows.length;
    double* gradient = evaluation.output.values.data() + r * rows.length;
    const int64_t truth = static_cast<int64_t>(label.values[static_cast<size_t>(r)]);
    if (truth < 0 || truth >= rows.length) continue;
    const double log_sum = LogSumExp(logits, rows.length);
    for (int64_t c = 0; c < rows.length; ++c) {
      gradient[c] = share * (std::exp(logits[c] - log_sum) - (c == truth ? 1 : 0));
    }
  }
}

}  // namespace

OpDefinition DefineCrossEntropyGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "logits"}, {.name = "label"}, {.name = "dloss"}},
                      .summary = "(softmax(logits) - one_hot(label)) * dloss / count",
                      .infer = InferCrossEntropyGradient,
                      .rule = CrossEntropyGradientRule,
                      .flops = FlopsPerElement<15>,
                      .distribute = DistributeCrossEntropyGradient,
                      .evaluate = EvaluateCrossEntropyGradient,
                      .choices = LabelChoices};
}

}  // namespace cleave
