#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineSign() {
  OpDefinition definition = UnaryOp("sign", "-1, 0 or 1 by the sign of each element");
  definition.callable = false;
  definition.evaluate = EvaluateUnary<[](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
