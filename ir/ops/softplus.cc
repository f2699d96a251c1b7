#include <algorithm>
#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

// In this form nothing overflows, and small results keep their digits.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

Gradients SoftplusGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  return {builder.Add(OpKind::kMul, {dy, builder.Add(OpKind::kSigmoid, {op.inputs[0]}, {}, name)}, {}, name)};
}

}  // namespace

OpDefinition DefineSoftplus() {
  OpDefinition definition = UnaryOp("log(1 + exp(x)) of each element");
  definition.gradient = SoftplusGradients;
  definition.flops = FlopsPerElement<30>;
  definition.evaluate = EvaluateUnary<Softplus>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
