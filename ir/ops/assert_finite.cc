#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {

OpDefinition DefineAssertFinite() {
  OpDefinition definition = UnaryOp("stops the run where an element is infinite or not a number");
  definition.op_class = OpClass::kEffect;
  definition.evaluate = EvaluateUnary<[](double x) { return x; }>;
  return definition;
}

}  // namespace cleave
