// Quadratic near the target and linear from `delta` on: Huber, 1964.
//   d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = prediction - target

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

InferResult InferHuber(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFinite(attributes, attribute::kDelta)) return *error;
  const double delta = attributes.Get(attribute::kDelta);
  if (delta > 0) return InferRegression(inputs, attributes);
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`delta` is ", FormatDouble(delta)),
                 .notes = {"it is the difference from which the loss grows linearly, and must be positive"}};
}

OpId HuberTerms(const LossParts& parts) {
  const double delta = parts.attributes().Get(attribute::kDelta);
  const OpId difference = parts.Add(OpKind::kSub, parts.inputs());
  const OpId distance = parts.Add(OpKind::kAbs, {difference});
  const OpId near = parts.Add(OpKind::kScale, {parts.Add(OpKind::kSquare, {difference})}, {{attribute::kFactor, 0.5}});
  const OpId beyond = parts.Add(OpKind::kSub, {distance, parts.Constant(delta / 2)});
  const OpId far = parts.Add(OpKind::kScale, {beyond}, {{attribute::kFactor, delta}});
  const OpId is_near = parts.Add(OpKind::kLessEqual, {distance, parts.Constant(delta)});
  return parts.Add(OpKind::kWhere, {is_near, near, far});
}

// The derivative by d is d, kept within [-delta, delta].
Gradients HuberGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const double delta = op.attributes.Get(attribute::kDelta);
  const std::string name = GradientName(op, "prediction");
  const OpId share = ShareOfMean(builder, op, dy, name);
  const OpId difference = builder.Add(OpKind::kSub, {op.inputs[0], op.inputs[1]}, {}, name);
  const OpId slope =
      builder.Add(OpKind::kClamp, {difference}, {{attribute::kLow, -delta}, {attribute::kHigh, delta}}, name);
  const OpId plain = builder.Add(OpKind::kMul, {slope, share}, {}, name);
  const OpId by_prediction = ApplyMask(builder, op, plain, name);
  const OpId by_target = builder.Add(OpKind::kNeg, {by_prediction}, {}, GradientName(op, "target"));
  Gradients gradients = {by_prediction, by_target};
  AddMaskGradient(builder, op, dy, HuberTerms, gradients);
  return gradients;
}

void EvaluateHuber(const Evaluation& evaluation) {
  const double delta = evaluation.attributes.Get(attribute::kDelta);
  EvaluateRegression(evaluation, [delta](double prediction, double target) {
    const double distance = std::abs(prediction - target);
    return distance <= delta ? distance * distance / 2 : delta * (distance - delta / 2);
  });
}

std::vector<KernelCall> HuberCalls(const CallSite& site) {
  return LossCall(site, "Huber", {FloatNumber{site.attributes.Get(attribute::kDelta)}, site.Elements(0)});
}

}  // namespace

OpDefinition DefineHuber() {
  OpDefinition definition{.op_class = OpClass::kReduction,
                          .reads_16_bits = {0, 1},
                          .signature = LossSignature("prediction", "target"),
                          .summary = "mean of half the squared differences up to delta, of delta times the rest beyond",
                          .infer = InferHuber,
                          .rule = RegressionRule,
                          .gradient = HuberGradients,
                          .flops = FlopsPerInputElement<6>,
                          .evaluate = EvaluateHuber};
  // By position it comes before what is given by name.
  definition.signature.insert(definition.signature.begin() + 2, OptionalAttribute(attribute::kDelta, 1.0));
  definition.batch = [](Lift& lift) { return BatchLoss(lift, HuberTerms); };
  definition.calls = HuberCalls;
  definition.need = RowOrderNeed<0>;
  return definition;
}

}  // namespace cleave::ir
