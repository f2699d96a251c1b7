#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {

OpDefinition DefineLessEqual() {
  OpDefinition definition = ComparisonOp("1 where x is at most y, else 0, with broadcasting");
  definition.evaluate = EvaluateBinary<[](double x, double y) { return x <= y ? 1.0 : 0.0; }>;
  return definition;
}

}  // namespace cleave
