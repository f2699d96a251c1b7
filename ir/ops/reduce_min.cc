#include <algorithm>
#include <limits>

#include "ir/ops/define.h"
#include "ir/ops/reducing.h"

namespace cleave {
namespace {

Rule ReduceMinRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kMin, {});
}

void EvaluateReduceMin(const Evaluation& evaluation) {
  std::vector<double>& output = evaluation.output.values;
  std::fill(output.begin(), output.end(), std::numeric_limits<double>::infinity());
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    double& least = output[static_cast<size_t>(index[i])];
    least = std::min(least, evaluation.inputs[0]->values[i]);
  }
}

}  // namespace

OpDefinition DefineReduceMin() {
  OpDefinition definition = ReducingOp("minimum over axes, over all of them where none are given");
  definition.rule = ReduceMinRule;
  definition.gradient = ExtremeGradients;
  definition.evaluate = EvaluateReduceMin;
  return definition;
}

}  // namespace cleave
