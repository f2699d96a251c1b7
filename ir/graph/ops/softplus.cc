#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

// In this form nothing overflows, and small results keep their digits.
ScalarFunction SoftplusFunction() {
  const Scalar x = Variable("x");
  return {.value = Maximum(x, 0) + LogOnePlus(Exp(-Abs(x))), .gradients = {Dy() * Sigmoid(x)}};
}

}  // namespace

Scalar Softplus(const Scalar& x) { return Call(OpKind::kSoftplus, SoftplusFunction(), {x}); }

OpDefinition DefineSoftplus() { return ComputedInF32(UnaryOp(SoftplusFunction(), "log(1 + exp(x)) of each element")); }

}  // namespace cleave::ir
