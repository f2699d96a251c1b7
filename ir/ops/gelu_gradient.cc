#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

constexpr double kSqrtTwoOverPi = 0.7978845608028654;
constexpr double kCubic = 0.044715;

// With u = sqrt(2 / pi) * (x + 0.044715 x^3) and t = tanh(u): (1 + t) / 2 + x / 2 * (1 - t^2) * u'.
double GeluGradient(double dy, double x) {
  const double t = std::tanh(kSqrtTwoOverPi * (x + kCubic * x * x * x));
  const double du = kSqrtTwoOverPi * (1 + 3 * kCubic * x * x);
  return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du);
}

}  // namespace

OpDefinition DefineGeluGradient() {
  OpDefinition definition = UnaryGradientOp("x", "dy times the derivative of gelu at x");
  definition.flops = FlopsPerElement<30>;
  definition.evaluate = EvaluateBinary<GeluGradient>;
  return definition;
}

}  // namespace cleave
