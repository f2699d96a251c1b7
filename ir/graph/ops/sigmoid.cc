#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

ScalarFunction SigmoidGradientFunction() {
  const Scalar dy = Variable("dy"), y = Variable("y");
  return {.parameters = {"dy", "y"}, .value = dy * y * (1 - y)};
}

ScalarFunction SigmoidFunction() {
  return {.value = 1 / (1 + Exp(-Variable("x"))),
          .gradients = {Call(OpKind::kSigmoidGradient, SigmoidGradientFunction(), {Dy(), Result()})}};
}

}  // namespace

Scalar Sigmoid(const Scalar& x) { return Call(OpKind::kSigmoid, SigmoidFunction(), {x}); }

OpDefinition DefineSigmoid() { return UnaryOp(SigmoidFunction(), "1 / (1 + exp(-x)) of each element"); }

OpDefinition DefineSigmoidGradient() { return UnaryGradientOp(SigmoidGradientFunction(), "dy * y * (1 - y)"); }

// Sigmoid linear unit, or swish: Hendrycks and Gimpel, 2016, section 2; Ramachandran et al., 2017.
OpDefinition DefineSilu() {
  const Scalar x = Variable("x");
  return UnaryOp({.value = x * Sigmoid(x)}, "each element times its sigmoid");
}

}  // namespace cleave::ir
