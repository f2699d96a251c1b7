#include "ir/ops/elementwise.h"
#include "ir/ops/reshaping.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineAssertFinite() {
  OpDefinition definition = UnaryOp("assert_finite", "stops the run where an element is infinite or not a number");
  definition.op_class = OpClass::kEffect;
  definition.evaluate = CopyElements;
  return definition;
}

}  // namespace cleave
