#include "ir/ops/sources.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineState() { return SourceOp("state", false, "a slot of the optimizer; zeros at first"); }

}  // namespace cleave
