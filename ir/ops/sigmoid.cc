#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients SigmoidGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kSigmoidGradient, {dy, op.id}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineSigmoid() {
  OpDefinition definition = UnaryOp("1 / (1 + exp(-x)) of each element");
  definition.gradient = SigmoidGradients;
  definition.flops = FlopsPerElement<12>;
  definition.evaluate = EvaluateUnary<[](double x) { return 1 / (1 + std::exp(-x)); }>;
  return definition;
}

}  // namespace cleave
