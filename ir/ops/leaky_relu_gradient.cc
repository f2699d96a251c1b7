// Reads the argument, not the value: with a slope that is not positive the value does not tell its sign. At 0 the slope
// counts, as it does in the gradient of relu.

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

void EvaluateLeakyReluGradient(const Evaluation& evaluation) {
  const double slope = evaluation.attributes.Get(attribute::kSlope);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double dy = evaluation.inputs[0]->values[i];
    evaluation.output.values[i] = 0 < evaluation.inputs[1]->values[i] ? dy : slope * dy;
  }
}

}  // namespace

OpDefinition DefineLeakyReluGradient() {
  OpDefinition definition = UnaryGradientOp("x", "dy where x is positive, else dy times the slope");
  definition.signature.push_back(RequiredAttribute(attribute::kSlope));
  definition.evaluate = EvaluateLeakyReluGradient;
  return definition;
}

}  // namespace cleave
