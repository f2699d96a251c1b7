#include <cmath>

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

OpId MaeTerms(const LossParts& parts) { return parts.Add(OpKind::kAbs, {parts.Add(OpKind::kSub, parts.inputs())}); }

Gradients MaeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return RegressionGradients(builder, op, dy, OpKind::kMaeGradient, MaeTerms);
}

void EvaluateMae(const Evaluation& evaluation) {
  EvaluateRegression(evaluation, [](double prediction, double target) { return std::abs(prediction - target); });
}

}  // namespace

OpDefinition DefineMae() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0, 1},
                      .signature = LossSignature("prediction", "target"),
                      .summary = "mean of the absolute differences",
                      .infer = InferRegression,
                      .rule = RegressionRule,
                      .gradient = MaeGradients,
                      .flops = FlopsPerInputElement<3>,
                      .evaluate = EvaluateMae,
                      .batch = [](Lift& lift) { return BatchLoss(lift, MaeTerms); },
                      .calls = [](const CallSite& site) { return LossCall(site, "Mae", {site.Elements(0)}); },
                      .need = RowOrderNeed<0>};
}

OpDefinition DefineMaeGradient() {
  const Scalar prediction = Variable("prediction"), target = Variable("target");
  const Scalar dloss = Variable("dloss"), count = Variable("count");
  return RegressionGradientOp({.parameters = {"prediction", "target", "dloss", "count"},
                               .value = Sign(prediction - target) * dloss / count,
                               .flops = 3},
                              "sign(prediction - target) * dloss / count");
}

}  // namespace cleave::ir
