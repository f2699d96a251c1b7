#include "ir/ops/define.h"
#include "ir/ops/reducing.h"

namespace cleave {
namespace {

Rule ReduceSumRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kSum, {{0}});
}

Gradients ReduceSumGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape shape = builder.type(op.inputs[0]).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(shape.size()));
  return {RepeatAlong(builder, dy, shape, axes, GradientName(op, "x"))};
}

void EvaluateReduceSum(const Evaluation& evaluation) {
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    evaluation.output.values[static_cast<size_t>(index[i])] += evaluation.inputs[0]->values[i];
  }
}

}  // namespace

OpDefinition DefineReduceSum() {
  OpDefinition definition = ReducingOp("sum over axes, over all of them where none are given");
  definition.rule = ReduceSumRule;
  definition.gradient = ReduceSumGradients;
  definition.evaluate = EvaluateReduceSum;
  return definition;
}

}  // namespace cleave
