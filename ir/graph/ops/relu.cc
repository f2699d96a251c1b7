#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

// Reads the value of the relu instead of its argument: both are positive at the same places, so the argument need not
// be kept.
ScalarFunction ReluGradientFunction() {
  const Scalar dy = Variable("dy"), y = Variable("y");
  return {.parameters = {"dy", "y"}, .value = Select(y > 0, dy, 0), .flops = 2};
}

// Reads the argument, not the value: if the slope is not positive, the value does not show the sign of the argument. At
// 0 the derivative is the slope, as it is 0 for relu.
ScalarFunction LeakyReluGradientFunction() {
  const Scalar dy = Variable("dy"), x = Variable("x"), slope = Variable(attribute::kSlope);
  return {.parameters = {"dy", "x", attribute::kSlope.name}, .value = Select(x > 0, dy, slope * dy)};
}

InferResult InferLeakyRelu(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kSlope)) return *error;
  return inputs[0];
}

}  // namespace

OpDefinition DefineRelu() {
  return UnaryOp({.value = Maximum(Variable("x"), 0),
                  .gradients = {Call(OpKind::kReluGradient, ReluGradientFunction(), {Dy(), Result()})}},
                 "each element, or 0 where it is negative");
}

OpDefinition DefineReluGradient() { return UnaryGradientOp(ReluGradientFunction(), "dy where y is positive, else 0"); }

OpDefinition DefineLeakyRelu() {
  const Scalar x = Variable("x"), slope = Variable(attribute::kSlope);
  OpDefinition definition =
      UnaryOp({.parameters = {"x", attribute::kSlope.name},
               .value = Select(x < 0, slope * x, x),
               .gradients = {Call(OpKind::kLeakyReluGradient, LeakyReluGradientFunction(), {Dy(), x, slope})}},
              "each element, times the slope where it is negative");
  definition.signature.push_back(OptionalAttribute(attribute::kSlope, 0.01));
  definition.infer = InferLeakyRelu;
  return definition;
}

OpDefinition DefineLeakyReluGradient() {
  OpDefinition definition =
      UnaryGradientOp(LeakyReluGradientFunction(), "dy where x is positive, else dy times the slope");
  definition.signature.push_back(RequiredAttribute(attribute::kSlope));
  return definition;
}

}  // namespace cleave::ir
