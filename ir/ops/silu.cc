// Sigmoid linear unit, or swish: Hendrycks and Gimpel, 2016, section 2; Ramachandran et al., 2017.

#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

// With s = sigmoid(x): s + x s (1 - s).
Gradients SiluGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const std::string name = GradientName(op, "x");
  const OpId s = builder.Add(OpKind::kSigmoid, {x}, {}, name);
  const OpId by_factor = builder.Add(OpKind::kMul, {dy, s}, {}, name);
  const OpId by_sigmoid =
      builder.Add(OpKind::kSigmoidGradient, {builder.Add(OpKind::kMul, {dy, x}, {}, name), s}, {}, name);
  return {builder.Add(OpKind::kAdd, {by_factor, by_sigmoid}, {}, name)};
}

}  // namespace

OpDefinition DefineSilu() {
  OpDefinition definition = UnaryOp("each element times its sigmoid");
  definition.gradient = SiluGradients;
  definition.flops = FlopsPerElement<13>;
  definition.evaluate = EvaluateUnary<[](double x) { return x / (1 + std::exp(-x)); }>;
  return definition;
}

}  // namespace cleave
