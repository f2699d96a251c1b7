#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineLess() {
  OpDefinition definition = ComparisonOp("less", "1 where x is less than y, else 0, with broadcasting");
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x < y ? 1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
