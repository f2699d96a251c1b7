// One value while a model is trained, and another while it is tested (step 0): batch normalisation takes the statistics
// of its batch, and later their running averages. A program that does not train has the second one alone
// (tools/driver/outputs.h).

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferWhileTraining(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "otherwise")) return *error;
  if (inputs[0].shape == inputs[1].shape) return inputs[0];
  return OpError{
      .code = Code::kE0411,
      .message = absl::StrCat("`x` is ", ShapeText(inputs[0].shape), " and `otherwise` ", ShapeText(inputs[1].shape)),
      .notes = {"one takes the place of the other"}};
}

// Which of the two it is depends on the step alone, so it is linear in both together.
Rule WhileTrainingRule(Types inputs, const TensorType& output, const Attributes&) {
  return BroadcastRule(inputs, output, {{0, 1}});
}

OpId BatchWhileTraining(Lift& lift) { return lift.Main({lift.Whole(0), lift.Whole(1)}); }

// There are gradients only while the model is trained.
Gradients WhileTrainingGradients(GraphBuilder&, const Op&, OpId dy) { return {dy, std::nullopt}; }

void EvaluateWhileTraining(const Evaluation& evaluation) {
  evaluation.output.values = evaluation.inputs[evaluation.step == 0 ? 1 : 0]->values;
}

std::vector<KernelCall> WhileTrainingCalls(const CallSite& site) {
  return {{"WhileTraining", {RunValue::kStep, Pointer{0}, Pointer{1}, site.Elements(kResult), Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineWhileTraining() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .signature = {{.name = "x"}, {.name = "otherwise"}},
                      .summary = "x while the model is trained, `otherwise` while it is tested",
                      .infer = InferWhileTraining,
                      .rule = WhileTrainingRule,
                      .gradient = WhileTrainingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateWhileTraining,
                      .batch = BatchWhileTraining,
                      .calls = WhileTrainingCalls};
}

}  // namespace cleave::ir
