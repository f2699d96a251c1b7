// Labels outside of the classes add nothing; the data loader reports them. With `label_smoothing` s a label stands for
// the probability 1 - s of its class and s / classes of each class, that one among them: Szegedy and others, Rethinking
// the Inception Architecture, 2016. A row's loss is then log_sum - (1 - s) logits[label] - s mean(logits). With
// `z_loss` z it is z log_sum^2 more: Chowdhery and others, PaLM, 2022.

#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

double SmoothingOf(const Attributes& attributes) { return attributes.Get(attribute::kLabelSmoothing); }

double ZLossOf(const Attributes& attributes) { return attributes.Get(attribute::kZLoss); }

// What a loss has in common with its gradient and its distributed form.
Attributes TermAttributes(const Op& op) {
  return {{attribute::kLabelSmoothing, SmoothingOf(op.attributes)}, {attribute::kZLoss, ZLossOf(op.attributes)}};
}

std::optional<OpError> CheckTerms(const Attributes& attributes) {
  const double smoothing = SmoothingOf(attributes);
  if (!(smoothing >= 0 && smoothing <= 1)) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`label_smoothing` is ", FormatDouble(smoothing)),
                   .notes = {"the share of a label's weight that all classes get lies in [0, 1]"}};
  }
  const double z_loss = ZLossOf(attributes);
  if (z_loss >= 0 && std::isfinite(z_loss)) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`z_loss` is ", FormatDouble(z_loss)),
                 .notes = {"the weight of the squared logarithm of a sum of exponentials is not negative"}};
}

InferResult InferCrossEntropy(Types inputs, const Attributes& attributes) {
  if (auto error = CheckTerms(attributes)) return *error;
  if (const int64_t parts = attributes.Get(attribute::kParts); parts < 0) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`parts` is ", parts),
                   .notes = {"a loss is computed in a number of parts, or in as many as the compiler chooses with 0"}};
  }
  InferResult result = InferClassification(inputs, attributes);
  if (auto* error = std::get_if<OpError>(&result); error != nullptr && inputs[1] == inputs[0]) {
    error->help = {"as probabilities of the classes: cross_entropy(logits, probabilities = label)"};
  }
  return result;
}

// -log_softmax(logits)[label]
OpId CrossEntropyTerms(const LossParts& parts) {
  const OpId logits = parts.inputs()[0];
  const int64_t classes = parts.shape(logits).back();
  const OpId log = parts.Add(OpKind::kLogSoftmax, {logits});
  const OpId chosen = parts.Add(OpKind::kOneHot, {parts.inputs()[1]}, {{attribute::kDepth, classes}});
  const OpId kept = parts.Add(OpKind::kWhere, {chosen, log, parts.Constant(0)});
  const Attributes last = {{attribute::kAxes, std::vector<int64_t>{-1}}};
  const OpId row = parts.Add(OpKind::kReduceSum, {kept}, last);
  const double smoothing = SmoothingOf(parts.attributes()), z_loss = ZLossOf(parts.attributes());
  const auto with_z_loss = [&](OpId terms) {
    if (z_loss == 0) return terms;
    const OpId log_sums = parts.Add(OpKind::kSub, {logits, log});  // The same for all classes.
    const OpId log_sum = parts.Add(OpKind::kReduceMean, {log_sums}, last);
    const OpId square = parts.Add(OpKind::kSquare, {log_sum});
    const OpId share = parts.Add(OpKind::kScale, {square}, {{attribute::kFactor, z_loss}});
    const OpId is_class = parts.Add(OpKind::kReduceSum, {chosen}, last);
    return parts.Add(OpKind::kAdd, {terms, parts.Add(OpKind::kWhere, {is_class, share, parts.Constant(0)})});
  };
  if (smoothing == 0) return with_z_loss(parts.Add(OpKind::kNeg, {row}));
  // The sum over the classes counts where the label is one of them.
  const OpId all = parts.Add(OpKind::kReduceSum, {log}, last);
  const OpId is_class = parts.Add(OpKind::kReduceSum, {chosen}, last);
  const OpId even = parts.Add(OpKind::kWhere, {is_class, all, parts.Constant(0)});
  const OpId own_share = parts.Add(OpKind::kScale, {row}, {{attribute::kFactor, smoothing - 1}});
  const OpId even_share =
      parts.Add(OpKind::kScale, {even}, {{attribute::kFactor, -smoothing / static_cast<double>(classes)}});
  return with_z_loss(parts.Add(OpKind::kAdd, {own_share, even_share}));
}

Gradients CrossEntropyGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "logits");
  const OpId plain =
      builder.Add(OpKind::kCrossEntropyGradient, {op.inputs[0], op.inputs[1], dy}, TermAttributes(op), name);
  Gradients gradients = {ApplyMask(builder, op, plain, name), std::nullopt};
  AddMaskGradient(builder, op, dy, CrossEntropyTerms, gradients);
  return gradients;
}

OpId DistributeCrossEntropy(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  std::vector<OpId> inputs = op.inputs;
  inputs.insert(inputs.begin() + 2, RowLogSumExp(builder, op.inputs[0], op.name));
  return builder.Add(OpKind::kLabelLoss, std::move(inputs), TermAttributes(op), op.name);
}

// The arguments of a call with smoothing and z_loss behind them, where there are any.
std::vector<CallArgument> WithTerms(std::vector<CallArgument> arguments, const CallSite& site) {
  const double smoothing = SmoothingOf(site.attributes), z_loss = ZLossOf(site.attributes);
  if (smoothing > 0 || z_loss > 0) arguments.push_back(FloatNumber{smoothing});
  if (z_loss > 0) arguments.push_back(FloatNumber{z_loss});
  return arguments;
}

// The factor of the gradient, where the call of a loss also computes that: a tensor which only the gradient reads.
constexpr int kFactorOfLoss = 3;
constexpr int kFactorOfLabelLoss = 4;

bool HasTermsOf(const CallSite& op, const CallSite& companion) {
  return SmoothingOf(op.attributes) == SmoothingOf(companion.attributes) &&
         ZLossOf(op.attributes) == ZLossOf(companion.attributes);
}

// The gradient of a loss, of which it reads all inputs but the weights of samples.
Companion GradientInPlace(OpKind kind, std::vector<int> inputs) {
  return {.kind = kind, .inputs = std::move(inputs), .fits = HasTermsOf, .comes_early = true};
}

// The arguments of the call of a loss, with its terms and its gradient behind them, where there are any. `factor`: the
// tensor by which the gradient is multiplied.
std::vector<CallArgument> WithGradient(std::vector<CallArgument> arguments, const CallSite& site, int factor) {
  if (!site.Has(0)) return WithTerms(std::move(arguments), site);
  arguments.insert(arguments.end(), {FloatNumber{SmoothingOf(site.attributes)}, FloatNumber{ZLossOf(site.attributes)},
                                     BracedList{{{ScalarInput{factor}}, {ResultWithGradients{0}}}}});
  return arguments;
}

std::vector<KernelCall> CrossEntropyCalls(const CallSite& site) {
  std::vector<KernelCall> calls = LossCall(site, "CrossEntropy", {site.Rows(0), site.Columns(0)});
  calls[0].arguments = WithGradient(std::move(calls[0].arguments), site, kFactorOfLoss);
  return calls;
}

void EvaluateCrossEntropy(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Tensor& label = *evaluation.inputs[1];
  const double smoothing = SmoothingOf(evaluation.attributes);
  double sum = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* logits = evaluation.inputs[0]->values.data() + r * rows.length;
    const int64_t truth = static_cast<int64_t>(label.values[static_cast<size_t>(r)]);
    if (truth < 0 || truth >= rows.length) continue;
    const double mean = std::accumulate(logits, logits + rows.length, 0.0) / static_cast<double>(rows.length);
    const double log_sum = RowExpSumOf(logits, rows.length).LogSumExp();
    sum += MaskAt(evaluation, label.shape, r) * (log_sum - (1 - smoothing) * logits[truth] - smoothing * mean +
                                                 ZLossOf(evaluation.attributes) * log_sum * log_sum);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, label.shape.size());
}

// (softmax(logits) - p) * dloss / count, p = one_hot(label) without smoothing; zeros in rows whose label is no class.

InferResult InferCrossEntropyGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckTerms(attributes)) return *error;
  if (auto error = CheckClassification(inputs)) return *error;
  if (auto error = CheckSameShape({inputs[2], TensorType{}}, 0, 1, "dloss")) return *error;
  return inputs[0];
}

Rule CrossEntropyGradientRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kLeading, RowPart::kNone}, .linear = {{2}}}.For(inputs[0].shape);
}

OpId DistributeCrossEntropyGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId log_sum = RowLogSumExp(builder, op.inputs[0], op.name);
  return builder.Add(OpKind::kLabelLossGradient, {op.inputs[0], op.inputs[1], log_sum, op.inputs[2]},
                     TermAttributes(op), op.name);
}

// That a label gives to a class.
double Probability(bool is_label, int64_t classes, const Evaluation& evaluation) {
  const double smoothing = SmoothingOf(evaluation.attributes);
  return (is_label ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
}

// The derivative of a row's loss by log_sum.
double ByLogSum(double log_sum, const Evaluation& evaluation) {
  return 1 + 2 * ZLossOf(evaluation.attributes) * log_sum;
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
    const double log_sum = RowExpSumOf(logits, rows.length).LogSumExp();
    for (int64_t c = 0; c < rows.length; ++c) {
      gradient[c] = share * (ByLogSum(log_sum, evaluation) * std::exp(logits[c] - log_sum) -
                             Probability(c == truth, rows.length, evaluation));
    }
  }
}

std::vector<KernelCall> CrossEntropyGradientCalls(const CallSite& site) {
  return {{"CrossEntropyGradient", WithTerms({Pointer{0}, Pointer{1}, ScalarInput{2}, site.Rows(0), site.Columns(0),
                                              site.type(1).elements(), Pointer{kResult}},
                                             site)}};
}

// cross_entropy where the logarithm of each row's sum of exponentials is known: log_sum - logits[label]. Where the
// classes are cut, a row is counted by the rank that holds its label's logit, and each rank adds what smoothing gives
// its classes.

InferResult InferLabelLoss(Types inputs, const Attributes& attributes) {
  if (auto error = CheckTerms(attributes)) return *error;
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
  const FactorRange& classes = evaluation.ranges.back();
  const double smoothing = SmoothingOf(evaluation.attributes);
  double sum = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t truth = static_cast<int64_t>(label.values[static_cast<size_t>(r)]);
    if (truth < 0 || truth >= classes.global) continue;
    const double* logits = evaluation.inputs[0]->values.data() + r * rows.length;
    double own = 0;
    if (smoothing > 0) {  // Else the other logits are not read.
      own = -smoothing / static_cast<double>(classes.global) * std::accumulate(logits, logits + rows.length, 0.0);
    }
    const int64_t place = truth - classes.begin;
    if (place >= 0 && place < rows.length) {
      const double log = log_sum[static_cast<size_t>(r)];
      own += log - (1 - smoothing) * logits[place] + ZLossOf(evaluation.attributes) * log * log;
    }
    sum += MaskAt(evaluation, label.shape, r, 3) * own;
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, label.shape.size());
}

// The classes that a rank holds, as a ClassRange of the runtime.
BracedList ClassesOf(const CallSite& site) {
  return {{{FirstIndex{site.Last(0)}}, {site.Columns(0)}, {site.type(0).shape.back()}}};
}

std::vector<KernelCall> LabelLossCalls(const CallSite& site) {
  return {{"LabelLoss", WithGradient({Pointer{0}, Pointer{1}, Pointer{2}, site.Rows(0), ClassesOf(site),
                                      site.type(1).elements(), MaskArgument(site, 3), Pointer{kResult}},
                                     site, kFactorOfLabelLoss)}};
}

// cross_entropy_gradient where the logarithm of each row's sum of exponentials is known:
// (exp(logits - log_sum) - one_hot(label)) * dloss / count, zeros in rows whose label is no class.

InferResult InferLabelLossGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckTerms(attributes)) return *error;
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
      const bool is_label = classes.begin + c == truth;
      gradient[c] = share * (ByLogSum(log_sum, evaluation) * std::exp(logits[c] - log_sum) -
                             Probability(is_label, classes.global, evaluation));
    }
  }
}

std::vector<KernelCall> LabelLossGradientCalls(const CallSite& site) {
  return {{"LabelLossGradient", WithTerms({Pointer{0}, Pointer{1}, Pointer{2}, ScalarInput{3}, site.Rows(0),
                                           ClassesOf(site), site.type(1).elements(), Pointer{kResult}},
                                          site)}};
}

std::vector<Argument> WithTermArguments(std::vector<Argument> signature) {
  signature.push_back(OptionalAttribute(attribute::kLabelSmoothing, 0.0));
  signature.push_back(OptionalAttribute(attribute::kZLoss, 0.0));
  return signature;
}

std::vector<Argument> CrossEntropySignature() {
  std::vector<Argument> signature = WithTermArguments(LossSignature("logits", "label"));
  signature.push_back(OptionalAttribute(attribute::kParts, 0));
  return signature;
}

}  // namespace

OpDefinition DefineCrossEntropy() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0},
                      .signature = CrossEntropySignature(),
                      .summary = "mean of -log softmax(logits)[label]",
                      .infer = InferCrossEntropy,
                      .rule = ClassificationRule,
                      .gradient = CrossEntropyGradients,
                      .flops = FlopsPerInputElement<12>,
                      .distribute = DistributeCrossEntropy,
                      .evaluate = EvaluateCrossEntropy,
                      .choices = LabelChoices,
                      .batch = [](Lift& lift) { return BatchLoss(lift, CrossEntropyTerms); },
                      .calls = CrossEntropyCalls,
                      .companions = {GradientInPlace(OpKind::kCrossEntropyGradient, {0, 1, kFactorOfLoss})},
                      .need = RowOrderNeed<1>};
}

OpDefinition DefineCrossEntropyGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .overwrites = 0,
                      .callable = false,
                      .reads_16_bits = {0},
                      .gives_16_bits = true,
                      .signature = WithTermArguments({{.name = "logits"}, {.name = "label"}, {.name = "dloss"}}),
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
                      .looks_up = 0,  // One logit of each row; with smoothing all, which is rare.
                      .reads_16_bits = {0},
                      .signature = WithTermArguments({{.name = "logits"},
                                                      {.name = "label"},
                                                      {.name = "log_sum"},
                                                      {.name = kSampleWeight, .kind = ArgumentKind::kOptionalTensor}}),
                      .summary = "mean of log_sum - logits[label]",
                      .infer = InferLabelLoss,
                      .rule = LabelLossRule,
                      .flops = FlopsPerRow<2>,
                      .evaluate = EvaluateLabelLoss,
                      .choices = LabelChoices,
                      .calls = LabelLossCalls,
                      .companions = {GradientInPlace(OpKind::kLabelLossGradient, {0, 1, 2, kFactorOfLabelLoss})},
                      .need = RowOrderNeed<1>};
}

OpDefinition DefineLabelLossGradient() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .overwrites = 0,
      .callable = false,
      .reads_16_bits = {0},
      .gives_16_bits = true,
      .signature = WithTermArguments({{.name = "logits"}, {.name = "label"}, {.name = "log_sum"}, {.name = "dloss"}}),
      .summary = "(exp(logits - log_sum) - one_hot(label)) * dloss / count",
      .infer = InferLabelLossGradient,
      .rule = LabelLossGradientRule,
      .flops = FlopsPerElement<15>,
      .evaluate = EvaluateLabelLossGradient,
      .choices = LabelChoices,
      .calls = LabelLossGradientCalls};
}

}  // namespace cleave::ir
