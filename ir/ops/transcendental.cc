// Exponential and trigonometric functions, and their kin.

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

constexpr double kTwoOverSqrtPi = 1.1283791670955126;

ScalarFunction TanhGradientFunction() {
  const Scalar dy = Variable("dy"), y = Variable("y");
  return {.name = "tanh_gradient", .parameters = {"dy", "y"}, .value = dy * (1 - y * y)};
}

}  // namespace

OpDefinition DefineExp() {
  return UnaryOp({.name = "exp", .parameters = {"x"}, .value = Exp(Variable("x"))}, "e to the power of each element");
}

OpDefinition DefineLog() {
  return UnaryOp({.name = "log", .parameters = {"x"}, .value = Log(Variable("x"))},
                 "natural logarithm of each element");
}

OpDefinition DefineSin() {
  return UnaryOp({.name = "sin", .parameters = {"x"}, .value = Sin(Variable("x"))}, "sine of each element, in radians");
}

OpDefinition DefineCos() {
  return UnaryOp({.name = "cos", .parameters = {"x"}, .value = Cos(Variable("x"))},
                 "cosine of each element, in radians");
}

OpDefinition DefineTanh() {
  return UnaryOp({.name = "tanh",
                  .parameters = {"x"},
                  .value = Tanh(Variable("x")),
                  .gradients = {Call(TanhGradientFunction(), {Dy(), Result()})}},
                 "hyperbolic tangent of each element");
}

OpDefinition DefineTanhGradient() { return UnaryGradientOp(TanhGradientFunction(), "dy * (1 - y * y)"); }

OpDefinition DefineErf() {
  const Scalar x = Variable("x");
  return UnaryOp(
      {.name = "erf", .parameters = {"x"}, .value = Erf(x), .gradients = {Dy() * (kTwoOverSqrtPi * Exp(-Square(x)))}},
      "the error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x");
}

}  // namespace cleave
