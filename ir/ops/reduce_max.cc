#include <algorithm>
#include <limits>

#include "ir/ops/define.h"
#include "ir/ops/reducing.h"

namespace cleave {
namespace {

Rule ReduceMaxRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kMax, {});
}

void EvaluateReduceMax(const Evaluation& evaluation) {
  std::vector<double>& output = evaluation.output.values;
  std::fill(output.begin(), output.end(), -std::numeric_limits<double>::infinity());
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    double& most = output[static_cast<size_t>(index[i])];
    most = std::max(most, evaluation.inputs[0]->values[i]);
  }
}

}  // namespace

OpDefinition DefineReduceMax() {
  OpDefinition definition = ReducingOp("maximum over axes, over all of them where none are given");
  definition.rule = ReduceMaxRule;
  definition.gradient = ExtremeGradients;
  definition.evaluate = EvaluateReduceMax;
  return definition;
}

}  // namespace cleave
