#include <cmath>

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients SqrtGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  // d sqrt(x) = 1 / (2 sqrt(x))
  const OpId ratio = builder.Add("div", {dy, op.id}, {}, GradientName(op, "x"));
  return {builder.Add("scale", {ratio}, {{"factor", 0.5}}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineSqrt() {
  OpDefinition definition = UnaryOp("sqrt", "square root of each element");
  definition.gradient = SqrtGradients;
  definition.flops = FlopsPerElement<4>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::sqrt(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
