#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineEqual() {
  return ComparisonOp("equal", Equal(Variable("x"), Variable("y")), "1 where x equals y, else 0, with broadcasting");
}

OpDefinition DefineNotEqual() {
  return ComparisonOp("not_equal", NotEqual(Variable("x"), Variable("y")),
                      "1 where x differs from y, else 0, with broadcasting");
}

OpDefinition DefineLess() {
  return ComparisonOp("less", Variable("x") < Variable("y"), "1 where x is less than y, else 0, with broadcasting");
}

OpDefinition DefineLessEqual() {
  return ComparisonOp("less_equal", Variable("x") <= Variable("y"),
                      "1 where x is at most y, else 0, with broadcasting");
}

OpDefinition DefineGreater() {
  return ComparisonOp("greater", Variable("x") > Variable("y"),
                      "1 where x is greater than y, else 0, with broadcasting");
}

OpDefinition DefineGreaterEqual() {
  return ComparisonOp("greater_equal", Variable("x") >= Variable("y"),
                      "1 where x is at least y, else 0, with broadcasting");
}

}  // namespace cleave
