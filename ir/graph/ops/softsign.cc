#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {

OpDefinition DefineSoftsign() {
  const Scalar x = Variable("x");
  const Scalar size = 1 + Abs(x);
  return UnaryOp({.value = x / size, .gradients = {Dy() / Square(size)}}, "x / (1 + |x|) of each element");
}

}  // namespace cleave::ir
