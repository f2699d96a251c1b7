#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/losses.h"
#include "ir/ops/row_statistics.h"

namespace cleave {
namespace {

OpId DistributeAccuracy(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  std::vector<OpId> inputs = op.inputs;
  const OpId max = RowMax(builder, inputs[0], op.name);
  inputs[0] = builder.Add(OpKind::kFirstEqual, {inputs[0], max}, {}, absl::StrCat(op.name, ".predicted"));
  return builder.Add(OpKind::kShareOfEqual, std::move(inputs), {}, op.name);
}

void EvaluateAccuracy(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Tensor& label = *evaluation.inputs[1];
  double sum = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* logits = evaluation.inputs[0]->values.data() + r * rows.length;
    const int64_t largest = std::max_element(logits, logits + rows.length) - logits;
    if (largest == static_cast<int64_t>(label.values[static_cast<size_t>(r)]))
      sum += MaskAt(evaluation, label.shape, r);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, label.shape.size());
}

}  // namespace

OpDefinition DefineAccuracy() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = LossSignature("logits", "label"),
                      .summary = "share of the rows whose largest logit, the first of equal ones, is at the label",
                      .infer = InferClassification,
                      .rule = ClassificationRule,
                      .flops = FlopsPerInputElement<1>,
                      .distribute = DistributeAccuracy,
                      .evaluate = EvaluateAccuracy,
                      .choices = LabelChoices};
}

}  // namespace cleave
