#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/reshaping.h"

namespace cleave {

OpDefinition DefineAssertFinite() {
  OpDefinition definition = UnaryOp("stops the run where an element is infinite or not a number");
  definition.op_class = OpClass::kEffect;
  definition.evaluate = CopyElements;
  return definition;
}

}  // namespace cleave
