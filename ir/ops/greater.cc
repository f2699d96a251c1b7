#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {

OpDefinition DefineGreater() {
  OpDefinition definition = ComparisonOp("1 where x is greater than y, else 0, with broadcasting");
  definition.evaluate = EvaluateBinary<[](double x, double y) { return y < x ? 1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
