// Gaussian error linear unit: Hendrycks and Gimpel, 2016, section 2. `gelu` is its tanh form:
//   x / 2 * (1 + tanh(u)), u = sqrt(2 / pi) * (x + 0.044715 x^3)
// With s = sigmoid(2 u) that is x s, because tanh(u) = 2 s - 1. `gelu_exact` of the prelude is the function itself.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

constexpr double kSlope = 1.5957691216057308;  // 2 sqrt(2 / pi)
constexpr double kCube = 0.044715;

Scalar Share(const Scalar& x) { return Sigmoid(kSlope * (x + kCube * x * x * x)); }

// s + x s (1 - s) 2 u'
ScalarFunction GeluGradientFunction() {
  const Scalar dy = Variable("dy"), x = Variable("x");
  const Scalar s = Share(x);
  return {.parameters = {"dy", "x"},
          .value = dy * (s + x * s * (1 - s) * kSlope * (1 + Scalar(3) * kCube * x * x)),
          .flops = 30};
}

}  // namespace

OpDefinition DefineGelu() {
  const Scalar x = Variable("x");
  return UnaryOp({.value = x * Share(x),
                  .gradients = {Call(OpKind::kGeluGradient, GeluGradientFunction(), {Dy(), x})},
                  .flops = 20},
                 "x times the normal distribution function, in its tanh form");
}

OpDefinition DefineGeluGradient() {
  return UnaryGradientOp(GeluGradientFunction(), "dy times the derivative of gelu at x");
}

}  // namespace cleave::ir
