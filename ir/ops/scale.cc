#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients ScaleGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add("scale", {dy}, op.attributes.values, GradientName(op, "x"))};
}

void EvaluateScale(const Evaluation& evaluation) {
  const double factor = evaluation.attributes.GetDouble("factor");
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    evaluation.output.values[i] = factor * evaluation.inputs[0]->values[i];
  }
}

}  // namespace

OpDefinition DefineScale() {
  OpDefinition definition = UnaryOp("scale", "each element times a constant factor");
  definition.signature.push_back({.name = "factor", .kind = ArgumentKind::kFloat});
  definition.rule = FirstLinearRule;
  definition.gradient = ScaleGradients;
  definition.evaluate = EvaluateScale;
  return definition;
}

}  // namespace cleave
