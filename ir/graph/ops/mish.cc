// Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {

OpDefinition DefineMish() {
  const Scalar x = Variable("x");
  return UnaryOp({.value = x * Tanh(Softplus(x))}, "each element times the hyperbolic tangent of its softplus");
}

}  // namespace cleave::ir
