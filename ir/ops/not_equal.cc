#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineNotEqual() {
  OpDefinition definition = ComparisonOp("not_equal", "1 where x differs from y, else 0, with broadcasting");
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x != y ? 1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
