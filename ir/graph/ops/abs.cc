#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

// The sign of a value that is not a number is not a number either.
ScalarFunction SignFunction() {
  const Scalar x = Variable("x");
  return {.value = Select(x > 0, 1, Select(x < 0, -1, x)), .flops = 1};
}

}  // namespace

Scalar Sign(const Scalar& x) { return Call(OpKind::kSign, SignFunction(), {x}); }

OpDefinition DefineSign() {
  OpDefinition definition = UnaryOp(SignFunction(), "-1, 0 or 1 by the sign of each element");
  definition.callable = false;
  definition.gradient = nullptr;
  return definition;
}

OpDefinition DefineAbs() {
  const Scalar x = Variable("x");
  return UnaryOp({.value = Abs(x), .gradients = {Dy() * Sign(x)}}, "each element without its sign");
}

}  // namespace cleave::ir
