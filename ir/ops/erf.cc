#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

constexpr double kTwoOverSqrtPi = 1.1283791670955126;

// d erf(x) = 2 / sqrt(pi) exp(-x^2)
Gradients ErfGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId square = builder.Add(OpKind::kSquare, {op.inputs[0]}, {}, name);
  const OpId bell = builder.Add(OpKind::kExp, {builder.Add(OpKind::kNeg, {square}, {}, name)}, {}, name);
  const OpId slope = builder.Add(OpKind::kScale, {bell}, {{attribute::kFactor, kTwoOverSqrtPi}}, name);
  return {builder.Add(OpKind::kMul, {dy, slope}, {}, name)};
}

}  // namespace

OpDefinition DefineErf() {
  OpDefinition definition = UnaryOp("the error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x");
  definition.gradient = ErfGradients;
  definition.flops = FlopsPerElement<20>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::erf(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
