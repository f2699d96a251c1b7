#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients LogGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kDiv, {dy, op.inputs[0]}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineLog() {
  OpDefinition definition = UnaryOp("natural logarithm of each element");
  definition.gradient = LogGradients;
  definition.flops = FlopsPerElement<10>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::log(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
