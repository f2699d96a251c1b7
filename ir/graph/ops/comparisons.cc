#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {

OpDefinition DefineEqual() {
  return ComparisonOp(Equal(Variable("x"), Variable("y")), "1 where x equals y, else 0, with broadcasting");
}

OpDefinition DefineNotEqual() {
  return ComparisonOp(NotEqual(Variable("x"), Variable("y")), "1 where x differs from y, else 0, with broadcasting");
}

OpDefinition DefineLess() {
  return ComparisonOp(Variable("x") < Variable("y"), "1 where x is less than y, else 0, with broadcasting");
}

OpDefinition DefineLessEqual() {
  return ComparisonOp(Variable("x") <= Variable("y"), "1 where x is at most y, else 0, with broadcasting");
}

OpDefinition DefineGreater() {
  return ComparisonOp(Variable("x") > Variable("y"), "1 where x is greater than y, else 0, with broadcasting");
}

OpDefinition DefineGreaterEqual() {
  return ComparisonOp(Variable("x") >= Variable("y"), "1 where x is at least y, else 0, with broadcasting");
}

}  // namespace cleave::ir
