// Labels outside of the classes add nothing; the data loader reports them.

#include <cmath>

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

// -log_softmax(logits)[label]
OpId CrossEntropyTerms(const LossParts& parts) {
  const OpId logits = parts.inputs()[0];
  const int64_t classes = parts.shape(logits).back();
  const OpId log = parts.Add(OpKind::kLogSoftmax, {logits});
  const OpId chosen = parts.Add(OpKind::kOneHot, {parts.inputs()[1]}, {{attribute::kDepth, classes}});
  const OpId kept = parts.Add(OpKind::kWhere, {chosen, log, parts.Constant(0)});
  const OpId row = parts.Add(OpKind::kReduceSum, {kept}, {{attribute::kAxes, std::vector<int64_t>{-1}}});
  return parts.Add(OpKind::kNeg, {row});
}

Gradients CrossEntropyGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "logits");
  const OpId plain = builder.Add(OpKind::kCrossEntropyGradient, {op.inputs[0], op.inputs[1], dy}, {}, name);
  Gradients gradients = {ApplyMask(builder, op, plain, name), std::nullopt};
  AddMaskGradient(builder, op, dy, CrossEntropyTerms, gradients);
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

// (softmax(logits) - one_hot(label)) * dloss / count; zeros in rows whose label is no class.

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

std::vector<KernelCall> CrossEntropyGradientCalls(const CallSite& site) {
  return {{"CrossEntropyGradient",
           {Pointer{0}, Pointer{1}, ScalarInput{2}, site.Rows(0), site.Columns(0), site.type(1).elements(),
            Pointer{kResult}}}};
}

// cross_entropy where the logarithm of each row's sum of exponentials is known: log_sum - logits[label]. Where the
// classes are cut, a row is counted by the rank that holds its label's logit.

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

std::vector<KernelCall> LabelLossCalls(const CallSite& site) {
  return {{"LabelLoss",
           {Pointer{0}, Pointer{1}, Pointer{2}, site.Rows(0), site.Columns(0), FirstIndex{site.Last(0)},
            site.type(1).elements(), MaskArgument(site, 3), Pointer{kResult}}}};
}

// cross_entropy_gradient where the logarithm of each row's sum of exponentials is known:
// (exp(logits - log_sum) - one_hot(label)) * dloss / count, zeros in rows whose label is no class.

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

std::vector<KernelCall> LabelLossGradientCalls(const CallSite& site) {
  const BracedList classes = {{{FirstIndex{site.Last(0)}}, {site.Columns(0)}, {site.type(0).shape.back()}}};
  return {{"LabelLossGradient",
           {Pointer{0}, Pointer{1}, Pointer{2}, Pointer{3}, site.Rows(0), classes, site.type(1).elements(),
            Pointer{kResult}}}};
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
                      .choices = LabelChoices,
                      .batch = [](Lift& lift) { return BatchLoss(lift, CrossEntropyTerms); },
                      .calls =
                          [](const CallSite& site) {
                            return LossCall(site, "CrossEntropy", {site.Rows(0), site.Columns(0)});
                          },
                      .need = RowOrderNeed<1>};
}

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
                      .choices = LabelChoices,
                      .calls = CrossEntropyGradientCalls};
}

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
                      .choices = LabelChoices,
                      .calls = LabelLossCalls,
                      .need = RowOrderNeed<1>};
}

OpDefinition DefineLabelLossGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "logits"}, {.name = "label"}, {.name = "log_sum"}, {.name = "dloss"}},
                      .summary = "(exp(logits - log_sum) - one_hot(label)) * dloss / count",
                      .infer = InferLabelLossGradient,
                      .rule = LabelLossGradientRule,
                      .flops = FlopsPerElement<15>,
                      .evaluate = EvaluateLabelLossGradient,
                      .choices = LabelChoices,
                      .calls = LabelLossGradientCalls};
}

}  // namespace cleave::ir
