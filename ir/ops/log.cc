#include <cmath>

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

Gradients LogGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add("div", {dy, op.inputs[0]}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineLog() {
  OpDefinition definition = UnaryOp("log", "natural logarithm of each element");
  definition.gradient = LogGradients;
  definition.flops = FlopsPerElement<10>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::log(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
