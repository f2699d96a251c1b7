// Each rank divides its sum by the count of the whole, so the parts of a cut axis add up to the mean.

#include "ir/ops/define.h"
#include "ir/ops/reducing.h"

namespace cleave {
namespace {

Rule ReduceMeanRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kSum, {{0}});
}

Gradients ReduceMeanGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape shape = builder.type(op.inputs[0]).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(shape.size()));
  double count = 1;
  for (int axis : axes) count *= static_cast<double>(shape[static_cast<size_t>(axis)]);
  const OpId share = builder.Add(OpKind::kScale, {dy}, {{attribute::kFactor, 1 / count}}, GradientName(op, "x"));
  return {RepeatAlong(builder, share, shape, axes, GradientName(op, "x"))};
}

void EvaluateReduceMean(const Evaluation& evaluation) {
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  const double count = ReducedCount(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    evaluation.output.values[static_cast<size_t>(index[i])] += evaluation.inputs[0]->values[i] / count;
  }
}

}  // namespace

OpDefinition DefineReduceMean() {
  OpDefinition definition = ReducingOp("mean over axes, over all of them where none are given");
  definition.rule = ReduceMeanRule;
  definition.gradient = ReduceMeanGradients;
  definition.evaluate = EvaluateReduceMean;
  return definition;
}

}  // namespace cleave
