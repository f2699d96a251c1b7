// Shows a value and passes it on. `print(x)` shows the whole tensor, so nothing of it may be cut; `print(local x)`
// shows what each rank holds, in whatever layout.

#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferPrint(Types inputs, const Attributes&) { return inputs[0]; }

Rule PrintRule(Types inputs, const TensorType&, const Attributes& attributes) {
  Rule rule;
  rule.output =
      AddDimensions(rule, inputs[0].shape, attributes.GetBool("local") ? FactorKind::kParallel : FactorKind::kWhole);
  rule.inputs = {rule.output};
  return rule;
}

}  // namespace

OpDefinition DefinePrint() {
  OpDefinition definition = UnaryOp("print", "shows a tensor while training");
  definition.op_class = OpClass::kEffect;
  definition.signature.push_back({.name = "local", .kind = ArgumentKind::kBool, .default_value = false});
  definition.infer = InferPrint;
  definition.rule = PrintRule;
  definition.flops = FlopsPerElement<0>;
  definition.evaluate = EvaluateUnary<[](double x) { return x; }>;
  return definition;
}

}  // namespace cleave
