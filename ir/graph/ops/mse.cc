#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

OpId MseTerms(const LossParts& parts) { return parts.Add(OpKind::kSquare, {parts.Add(OpKind::kSub, parts.inputs())}); }

Gradients MseGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return RegressionGradients(builder, op, dy, OpKind::kMseGradient, MseTerms);
}

void EvaluateMse(const Evaluation& evaluation) {
  EvaluateRegression(evaluation,
                     [](double prediction, double target) { return (prediction - target) * (prediction - target); });
}

}  // namespace

OpDefinition DefineMse() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0, 1},
                      .signature = LossSignature("prediction", "target"),
                      .summary = "mean of the squared differences",
                      .infer = InferRegression,
                      .rule = RegressionRule,
                      .gradient = MseGradients,
                      .flops = FlopsPerInputElement<3>,
                      .evaluate = EvaluateMse,
                      .batch = [](Lift& lift) { return BatchLoss(lift, MseTerms); },
                      .calls = [](const CallSite& site) { return LossCall(site, "Mse", {site.Elements(0)}); },
                      .need = RowOrderNeed<0>};
}

OpDefinition DefineMseGradient() {
  const Scalar prediction = Variable("prediction"), target = Variable("target");
  const Scalar dloss = Variable("dloss"), count = Variable("count");
  return RegressionGradientOp({.parameters = {"prediction", "target", "dloss", "count"},
                               .value = 2 * (prediction - target) * dloss / count,
                               .flops = 3},
                              "2 (prediction - target) * dloss / count");
}

}  // namespace cleave::ir
