// Ops that are kept although nothing reads their value.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {
namespace {

// Shows a value and passes it on: `print(x)` the whole tensor, `print(local x)` what each rank holds. Both take the
// value in the layout that it has. The runtime puts pieces together where they are shown, so that a print causes no
// redistribution and changes no plan.

InferResult InferPrint(Types inputs, const Attributes&) { return inputs[0]; }

std::vector<KernelCall> PrintCalls(const CallSite& site) {
  // In a manual model every rank has a whole tensor of its own.
  if (site.is_manual) {
    return {{"PrintRanks", {RunValue::kCommunicator, InputCaption{}, NumberList(site.type(0).shape), Pointer{0}}}};
  }
  return {{site.attributes.Get(attribute::kLocal) ? "PrintPieces" : "Print",
           {RunValue::kCommunicator, InputCaption{}, LocalRegion{0}, Pointer{0}}}};
}

std::vector<KernelCall> AssertFiniteCalls(const CallSite& site) {
  return {{"AssertFinite", {RunValue::kCommunicator, InputCaption{}, site.Elements(0), Pointer{0}}}};
}

}  // namespace

OpDefinition DefinePrint() {
  OpDefinition definition = UnaryOp("shows a tensor while training");
  definition.op_class = OpClass::kEffect;
  definition.signature.push_back(OptionalAttribute(attribute::kLocal, false));
  definition.infer = InferPrint;
  definition.flops = FlopsPerElement<0>;
  definition.evaluate = CopyElements;
  definition.treatment = Treatment::kFloat;
  definition.calls = PrintCalls;
  return definition;
}

OpDefinition DefineAssertFinite() {
  OpDefinition definition = UnaryOp("stops the run where an element is infinite or not a number");
  definition.op_class = OpClass::kEffect;
  definition.evaluate = CopyElements;
  definition.treatment = Treatment::kFloat;
  definition.calls = AssertFiniteCalls;
  return definition;
}

}  // namespace cleave::ir
