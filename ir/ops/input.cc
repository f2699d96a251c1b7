#include "ir/ops/sources.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineInput() {
  OpDefinition definition = SourceOp("input", true, "a batch of data, by the name of the model's input");
  definition.signature.push_back({.name = "data", .kind = ArgumentKind::kString});
  return definition;
}

}  // namespace cleave
