// Gaussian error linear unit in the tanh form: Hendrycks and Gimpel, 2016, section 2.
//   x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

constexpr double kSqrtTwoOverPi = 0.7978845608028654;
constexpr double kCubic = 0.044715;

double Gelu(double x) { return 0.5 * x * (1 + std::tanh(kSqrtTwoOverPi * (x + kCubic * x * x * x))); }

Gradients GeluGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kGeluGradient, {dy, op.inputs[0]}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineGelu() {
  OpDefinition definition = UnaryOp("x times the normal distribution function, in its tanh form");
  definition.gradient = GeluGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluateUnary<Gelu>;
  return definition;
}

}  // namespace cleave
