// Labels outside of the classes add nothing; the data loader reports them.

#include "ir/ops/define.h"
#include "ir/ops/losses.h"
#include "ir/ops/row_statistics.h"

namespace cleave {
namespace {

Gradients CrossEntropyGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "logits");
  const OpId plain = builder.Add(OpKind::kCrossEntropyGradient, {op.inputs[0], op.inputs[1], dy}, {}, name);
  Gradients gradients(op.inputs.size());
  gradients[0] = ApplyMask(builder, op, plain, name);
  return gradients;
}

OpId DistributeCrossEntropy(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  std::vector<OpId> inputs = op.inputs;
  inputs.insert(inputs.begin() + 2, RowLogSumExp(builder, op.inputs[0], op.name));
  return builder.Add(OpKind::kLabelLoss, std::move(inputs), {}, op.name);
}

void EvaluateCrossEntropy(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Tensor& label = *evaluation.inputs[1];
  double sum = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* logits = evaluation.inputs[0]->values.data() + r * rows.length;
    const int64_t truth = static_cast<int64_t>(label.values[static_cast<size_t>(r)]);
    if (truth < 0 || truth >= rows.length) continue;
    sum += MaskAt(evaluation, label.shape, r) * (LogSumExp(logits, rows.length) - logits[truth]);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, label.shape.size());
}

}  // namespace

OpDefinition DefineCrossEntropy() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = LossSignature("logits", "label"),
                      .summary = "mean of -log softmax(logits)[label]",
                      .infer = InferClassification,
                      .rule = ClassificationRule,
                      .gradient = CrossEntropyGradients,
                      .flops = FlopsPerInputElement<12>,
                      .distribute = DistributeCrossEntropy,
                      .evaluate = EvaluateCrossEntropy,
                      .choices = LabelChoices};
}

}  // namespace cleave
