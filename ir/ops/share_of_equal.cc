#include "ir/ops/define.h"
#include "ir/ops/losses.h"

namespace cleave {
namespace {

InferResult InferShareOfEqual(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "y")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "y")) return *error;
  if (auto error = CheckMask(inputs, 2)) return *error;
  return TensorType{DType::kF32, {}};
}

void EvaluateShareOfEqual(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  double sum = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    if (x.values[i] == evaluation.inputs[1]->values[i]) sum += MaskAt(evaluation, x.shape, static_cast<int64_t>(i));
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, x.shape.size());
}

}  // namespace

OpDefinition DefineShareOfEqual() {
  OpDefinition definition{.op_class = OpClass::kReduction,
                          .callable = false,
                          .signature = LossSignature("x", "y"),
                          .summary = "share of the elements in which x equals y",
                          .infer = InferShareOfEqual,
                          .rule = RegressionRule,
                          .flops = FlopsPerInputElement<1>,
                          .evaluate = EvaluateShareOfEqual};
  return definition;
}

}  // namespace cleave
