// The share of rows that are classified as their labels say.

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"
#include "ir/graph/ops/ranking.h"

namespace cleave::ir {
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
    const int64_t largest = FirstRanked(logits, rows.length, 1)[0];
    if (largest == static_cast<int64_t>(label.values[static_cast<size_t>(r)]))
      sum += MaskAt(evaluation, label.shape, r);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, label.shape.size());
}

OpId AccuracyTerms(const LossParts& parts) {
  const OpId guess = parts.Add(OpKind::kArgmax, {parts.inputs()[0]}, {{attribute::kAxis, -1}});
  return parts.Add(OpKind::kEqual, {guess, parts.inputs()[1]});
}

InferResult InferAccuracy(Types inputs, const Attributes& attributes) {
  const InferResult result = InferClassification(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  if (auto error = CheckIndexed(inputs, inputs[0].rank() - 1)) return *error;
  return result;
}

InferResult InferShareOfEqual(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "y")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "y")) return *error;
  if (auto error = CheckMask(inputs, 2)) return *error;
  return TensorType{DType::kF32, {}};
}

void EvaluateShareOfEqual(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  double sum = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    if (x.values[i] == evaluation.inputs[1]->values[i]) sum += MaskAt(evaluation, x.shape, static_cast<int64_t>(i));
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, x.shape.size());
}

}  // namespace

OpDefinition DefineAccuracy() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0},
                      .signature = LossSignature("logits", "label"),
                      .summary = "share of the rows whose largest logit, the first of equal ones, is at the label",
                      .infer = InferAccuracy,
                      .rule = ClassificationRule,
                      .flops = FlopsPerInputElement<1>,
                      .distribute = DistributeAccuracy,
                      .evaluate = EvaluateAccuracy,
                      .choices = LabelChoices,
                      .batch = [](Lift& lift) { return BatchLoss(lift, AccuracyTerms); },
                      .calls =
                          [](const CallSite& site) {
                            return LossCall(site, "Accuracy", {site.Rows(0), site.Columns(0)});
                          },
                      .need = RowOrderNeed<1>};
}

OpDefinition DefineShareOfEqual() {
  OpDefinition definition{.op_class = OpClass::kReduction,
                          .callable = false,
                          .signature = LossSignature("x", "y"),
                          .summary = "share of the elements in which x equals y",
                          .infer = InferShareOfEqual,
                          .rule = RegressionRule,
                          .flops = FlopsPerInputElement<1>,
                          .evaluate = EvaluateShareOfEqual};
  definition.calls = [](const CallSite& site) { return LossCall(site, "ShareOfEqual", {site.Elements(0)}); };
  definition.need = RowOrderNeed<0>;
  return definition;
}

}  // namespace cleave::ir
