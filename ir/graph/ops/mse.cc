#include "ir/graph/ops/define.h"
#include "ir/graph/ops/losses.h"

namespace cleave::ir {
namespace {

Gradients MseGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return RegressionGradients(builder, op, dy, OpKind::kMseGradient);
}

void EvaluateMse(const Evaluation& evaluation) {
  EvaluateRegression(evaluation,
                     [](double prediction, double target) { return (prediction - target) * (prediction - target); });
}

std::optional<OpId> BatchMse(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  return lift.ElementMean(lift.Step(OpKind::kSquare, {lift.Step(OpKind::kSub, lift.Inputs())}), lift.rank(0));
}

}  // namespace

OpDefinition DefineMse() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = LossSignature("prediction", "target"),
                      .summary = "mean of the squared differences",
                      .infer = InferRegression,
                      .rule = RegressionRule,
                      .gradient = MseGradients,
                      .flops = FlopsPerInputElement<3>,
                      .evaluate = EvaluateMse,
                      .batch = BatchMse,
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
