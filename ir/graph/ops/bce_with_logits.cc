// Binary cross-entropy of p = sigmoid(logit) against the probability `target`, -t log(p) - (1 - t) log(1 - p), in the
// form
//   max(x, 0) - x t + log(1 + exp(-|x|)),
// in which nothing overflows and no digits are lost where p is close to 0 or 1.

#include <algorithm>
#include <cmath>

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

InferResult InferBceWithLogits(Types inputs, const Attributes&) {
  if (auto error = CheckRegression(inputs, "logits")) return *error;
  if (auto error = CheckMask(inputs, 2)) return *error;
  return TensorType{DType::kF32, {}};
}

// softplus(x) - x * t
OpId BceTerms(const LossParts& parts) {
  const OpId product = parts.Add(OpKind::kMul, parts.inputs());
  return parts.Add(OpKind::kSub, {parts.Add(OpKind::kSoftplus, {parts.inputs()[0]}), product});
}

// (sigmoid(x) - t) / n by the logits, -x / n by the target.
Gradients BceWithLogitsGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string by_logits = GradientName(op, "logits");
  const std::string by_target = GradientName(op, "target");
  const OpId share = ShareOfMean(builder, op, dy, by_logits);
  const OpId probability = builder.Add(OpKind::kSigmoid, {op.inputs[0]}, {}, by_logits);
  const OpId difference = builder.Add(OpKind::kSub, {probability, op.inputs[1]}, {}, by_logits);
  const OpId logits = builder.Add(OpKind::kMul, {difference, share}, {}, by_logits);
  const OpId negative = builder.Add(OpKind::kNeg, {op.inputs[0]}, {}, by_target);
  const OpId target = builder.Add(OpKind::kMul, {negative, share}, {}, by_target);
  Gradients gradients = {ApplyMask(builder, op, logits, by_logits), ApplyMask(builder, op, target, by_target)};
  AddMaskGradient(builder, op, dy, BceTerms, gradients);
  return gradients;
}

void EvaluateBceWithLogits(const Evaluation& evaluation) {
  EvaluateRegression(evaluation, [](double logit, double target) {
    return std::max(logit, 0.0) - logit * target + std::log1p(std::exp(-std::abs(logit)));
  });
}

}  // namespace

OpDefinition DefineBceWithLogits() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0, 1},
                      .signature = LossSignature("logits", "target"),
                      .summary = "mean of the binary cross-entropy of sigmoid(logits) against target probabilities",
                      .infer = InferBceWithLogits,
                      .rule = RegressionRule,
                      .gradient = BceWithLogitsGradients,
                      .flops = FlopsPerInputElement<40>,
                      .evaluate = EvaluateBceWithLogits,
                      .batch = [](Lift& lift) { return BatchLoss(lift, BceTerms); },
                      .calls = [](const CallSite& site) { return LossCall(site, "BceWithLogits", {site.Elements(0)}); },
                      .need = RowOrderNeed<0>};
}

}  // namespace cleave::ir
