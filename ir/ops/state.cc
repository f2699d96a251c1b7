#include "ir/ops/define.h"
#include "ir/ops/sources.h"

namespace cleave {

OpDefinition DefineState() {
  OpDefinition definition = SourceOp(false, "a slot of the optimizer; zeros at first");
  // As that of the parameter to which the slot belongs.
  definition.signature.push_back(OptionalAttribute(attribute::kLocal, false));
  return definition;
}

}  // namespace cleave
