// Exponential and trigonometric functions, and similar ones.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

constexpr double kTwoOverSqrtPi = 1.1283791670955126;

ScalarFunction TanhGradientFunction() {
  const Scalar dy = Variable("dy"), y = Variable("y");
  return {.parameters = {"dy", "y"}, .value = dy * (1 - y * y)};
}

}  // namespace

OpDefinition DefineExp() {
  return ComputedInF32(UnaryOp({.value = Exp(Variable("x"))}, "e to the power of each element"));
}

OpDefinition DefineLog() {
  return ComputedInF32(UnaryOp({.value = Log(Variable("x"))}, "natural logarithm of each element"));
}

OpDefinition DefineSin() {
  return ComputedInF32(UnaryOp({.value = Sin(Variable("x"))}, "sine of each element, in radians"));
}

OpDefinition DefineCos() {
  return ComputedInF32(UnaryOp({.value = Cos(Variable("x"))}, "cosine of each element, in radians"));
}

OpDefinition DefineTanh() {
  return UnaryOp({.value = Tanh(Variable("x")),
                  .gradients = {Call(OpKind::kTanhGradient, TanhGradientFunction(), {Dy(), Result()})}},
                 "hyperbolic tangent of each element");
}

OpDefinition DefineTanhGradient() { return UnaryGradientOp(TanhGradientFunction(), "dy * (1 - y * y)"); }

OpDefinition DefineErf() {
  const Scalar x = Variable("x");
  return ComputedInF32(UnaryOp({.value = Erf(x), .gradients = {Dy() * (kTwoOverSqrtPi * Exp(-Square(x)))}},
                               "the error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x"));
}

}  // namespace cleave::ir
