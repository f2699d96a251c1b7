#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

InferResult InferLeakyRelu(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kSlope)) return *error;
  return inputs[0];
}

Gradients LeakyReluGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kLeakyReluGradient, {dy, op.inputs[0]}, op.attributes, GradientName(op, "x"))};
}

void EvaluateLeakyRelu(const Evaluation& evaluation) {
  const double slope = evaluation.attributes.Get(attribute::kSlope);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double x = evaluation.inputs[0]->values[i];
    evaluation.output.values[i] = x < 0 ? slope * x : x;
  }
}

}  // namespace

OpDefinition DefineLeakyRelu() {
  OpDefinition definition = UnaryOp("each element, times the slope where it is negative");
  definition.signature.push_back(OptionalAttribute(attribute::kSlope, 0.01));
  definition.infer = InferLeakyRelu;
  definition.gradient = LeakyReluGradients;
  definition.flops = FlopsPerElement<2>;
  definition.evaluate = EvaluateLeakyRelu;
  return definition;
}

}  // namespace cleave
