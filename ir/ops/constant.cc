#include <algorithm>

#include "ir/ops/define.h"
#include "ir/ops/sources.h"

namespace cleave {
namespace {

void EvaluateConstant(const Evaluation& evaluation) {
  std::fill(evaluation.output.values.begin(), evaluation.output.values.end(),
            evaluation.attributes.Get(attribute::kValue));
}

}  // namespace

OpDefinition DefineConstant() {
  OpDefinition definition = SourceOp(true, "a tensor filled with one value");
  definition.signature[0].default_value = std::vector<int64_t>{};
  definition.signature.push_back(RequiredAttribute(attribute::kValue));
  definition.evaluate = EvaluateConstant;
  return definition;
}

}  // namespace cleave
