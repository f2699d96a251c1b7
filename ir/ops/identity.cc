// Passes a value on: the border of a region, where a pin can say how the value lies.

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/reshaping.h"

namespace cleave {
namespace {

InferResult InferIdentity(Types inputs, const Attributes&) { return inputs[0]; }

Gradients IdentityGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kIdentity, {dy}, {}, GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineIdentity() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .callable = false,
                      .signature = {{.name = "x"}},
                      .summary = "the same value",
                      .infer = InferIdentity,
                      .rule = FirstLinearRule,
                      .gradient = IdentityGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements};
}

}  // namespace cleave
