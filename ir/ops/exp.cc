#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

Gradients ExpGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kMul, {dy, op.id}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineExp() {
  OpDefinition definition = UnaryOp("e to the power of each element");
  definition.gradient = ExpGradients;
  definition.flops = FlopsPerElement<10>;
  definition.evaluate = EvaluateUnary<[](double x) { return std::exp(x); }>;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
