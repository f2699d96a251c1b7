#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineLessEqual() {
  OpDefinition definition = ComparisonOp("less_equal", "1 where x is at most y, else 0, with broadcasting");
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x <= y ? 1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
