// Howard et al., Searching for MobileNetV3, 2019, section 5.2: silu with a sigmoid of three straight pieces.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {

OpDefinition DefineHardSwish() {
  const Scalar x = Variable("x");
  return UnaryOp({.value = x * Minimum(Maximum(x + 3, 0), 6) / 6}, "x * min(max(x + 3, 0), 6) / 6 of each element");
}

}  // namespace cleave::ir
