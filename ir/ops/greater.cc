#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineGreater() {
  OpDefinition definition = ComparisonOp("greater", "1 where x is greater than y, else 0, with broadcasting");
  definition.evaluate = EvaluateBinary<[](double x, double y) { return y < x ? 1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
