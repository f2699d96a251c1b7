// Reads the argument, not the value: with a slope that is not positive the value does not tell its sign. At 0 the slope
// counts, as it does in the gradient of relu.

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

void EvaluateLeakyReluGradient(const Evaluation& evaluation) {
  const double slope = evaluation.attributes.GetDouble("slope");
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double dy = evaluation.inputs[0]->values[i];
    evaluation.output.values[i] = 0 < evaluation.inputs[1]->values[i] ? dy : slope * dy;
  }
}

}  // namespace

OpDefinition DefineLeakyReluGradient() {
  OpDefinition definition =
      UnaryGradientOp("leaky_relu_gradient", "x", "dy where x is positive, else dy times the slope");
  definition.signature.push_back({.name = "slope", .kind = ArgumentKind::kFloat});
  definition.evaluate = EvaluateLeakyReluGradient;
  return definition;
}

}  // namespace cleave
