#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

// In this form nothing overflows, and small results keep their digits.
ScalarFunction SoftplusFunction() {
  const Scalar x = Variable("x");
  return {.name = "softplus",
          .parameters = {"x"},
          .value = Maximum(x, 0) + LogOnePlus(Exp(-Abs(x))),
          .gradients = {Dy() * Sigmoid(x)}};
}

}  // namespace

Scalar Softplus(const Scalar& x) { return Call(SoftplusFunction(), {x}); }

OpDefinition DefineSoftplus() { return UnaryOp(SoftplusFunction(), "log(1 + exp(x)) of each element"); }

}  // namespace cleave
