// Shows a value and passes it on: `print(x)` the whole tensor, `print(local x)` what each rank holds. Either takes the
// value in the layout that it has; the runtime puts pieces together where they are shown, so that a print asks for no
// redistribution and no plan changes because of it.

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/reshaping.h"

namespace cleave {
namespace {

InferResult InferPrint(Types inputs, const Attributes&) { return inputs[0]; }

}  // namespace

OpDefinition DefinePrint() {
  OpDefinition definition = UnaryOp("shows a tensor while training");
  definition.op_class = OpClass::kEffect;
  definition.signature.push_back(OptionalAttribute(attribute::kLocal, false));
  definition.infer = InferPrint;
  definition.flops = FlopsPerElement<0>;
  definition.evaluate = CopyElements;
  return definition;
}

}  // namespace cleave
