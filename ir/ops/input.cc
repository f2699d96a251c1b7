#include "ir/ops/define.h"
#include "ir/ops/sources.h"

namespace cleave {

OpDefinition DefineInput() {
  OpDefinition definition = SourceOp(true, "a batch of data, by the name of the model's input");
  definition.signature.push_back(RequiredAttribute(attribute::kData));
  return definition;
}

}  // namespace cleave
