#include "ir/ops/sources.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineState() {
  OpDefinition definition = SourceOp("state", false, "a slot of the optimizer; zeros at first");
  // As that of the parameter to which the slot belongs.
  definition.signature.push_back({.name = "local", .kind = ArgumentKind::kBool, .default_value = false});
  return definition;
}

}  // namespace cleave
