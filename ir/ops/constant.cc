#include <algorithm>

#include "ir/ops/sources.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

void EvaluateConstant(const Evaluation& evaluation) {
  std::fill(evaluation.output.values.begin(), evaluation.output.values.end(), evaluation.attributes.GetDouble("value"));
}

}  // namespace

OpDefinition DefineConstant() {
  OpDefinition definition = SourceOp("constant", true, "a tensor filled with one value");
  definition.signature[0].default_value = std::vector<int64_t>{};
  definition.signature.push_back({.name = "value", .kind = ArgumentKind::kFloat});
  definition.evaluate = EvaluateConstant;
  return definition;
}

}  // namespace cleave
