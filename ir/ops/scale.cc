#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients ScaleGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kScale, {dy}, op.attributes, GradientName(op, "x"))};
}

void EvaluateScale(const Evaluation& evaluation) {
  const double factor = evaluation.attributes.Get(attribute::kFactor);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    evaluation.output.values[i] = factor * evaluation.inputs[0]->values[i];
  }
}

}  // namespace

OpDefinition DefineScale() {
  OpDefinition definition = UnaryOp("each element times a constant factor");
  definition.signature.push_back(RequiredAttribute(attribute::kFactor));
  definition.rule = FirstLinearRule;
  definition.gradient = ScaleGradients;
  definition.evaluate = EvaluateScale;
  return definition;
}

}  // namespace cleave
