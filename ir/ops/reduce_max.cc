// Where several elements are the maximum, the gradient is shared evenly among them.

#include <algorithm>
#include <limits>

#include "ir/ops/reducing.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Rule ReduceMaxRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kMax, {});
}

Gradients ReduceMaxGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  Shape kept = builder.type(x).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(kept.size()));
  for (int axis : axes) kept[static_cast<size_t>(axis)] = 1;
  const std::string name = GradientName(op, "x");
  auto with_kept_dims = [&](OpId value) {
    return builder.type(value).shape == kept ? value : builder.Add("reshape", {value}, {{"shape", kept}}, name);
  };
  const OpId is_max = builder.Add("equal", {x, with_kept_dims(op.id)}, {}, name);
  const std::vector<int64_t> wide_axes(axes.begin(), axes.end());
  const OpId count = builder.Add("reduce_sum", {is_max}, {{"axes", wide_axes}, {"keep_dims", true}}, name);
  const OpId share = builder.Add("div", {with_kept_dims(dy), count}, {}, name);
  return {builder.Add("mul", {is_max, share}, {}, name)};
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
  OpDefinition definition = ReducingOp("reduce_max", "maximum over axes, over all of them where none are given");
  definition.rule = ReduceMaxRule;
  definition.gradient = ReduceMaxGradients;
  definition.evaluate = EvaluateReduceMax;
  return definition;
}

}  // namespace cleave
