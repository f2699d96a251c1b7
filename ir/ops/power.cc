#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

InferResult InferPower(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kExponent)) return *error;
  return inputs[0];
}

// dy e x^(e - 1)
Gradients PowerGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const double exponent = op.attributes.Get(attribute::kExponent);
  if (exponent == 0) return {std::nullopt};
  const std::string name = GradientName(op, "x");
  const OpId share = builder.Add(OpKind::kScale, {dy}, {{attribute::kFactor, exponent}}, name);
  if (exponent == 1) return {share};
  const OpId power = builder.Add(OpKind::kPower, {op.inputs[0]}, {{attribute::kExponent, exponent - 1}}, name);
  return {builder.Add(OpKind::kMul, {share, power}, {}, name)};
}

void EvaluatePower(const Evaluation& evaluation) {
  const double exponent = evaluation.attributes.Get(attribute::kExponent);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    evaluation.output.values[i] = std::pow(evaluation.inputs[0]->values[i], exponent);
  }
}

}  // namespace

OpDefinition DefinePower() {
  OpDefinition definition = UnaryOp("each element to the power of a constant exponent");
  definition.signature.push_back(RequiredAttribute(attribute::kExponent));
  definition.infer = InferPower;
  definition.gradient = PowerGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluatePower;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
