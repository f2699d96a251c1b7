// The gradient of an op that a model defines by one of its inputs: (dy, the inputs of the op) -> like input `input`.
// Its body is the backward function beside the op's.
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/ops/custom_reference.h"
#include "ir/ops/custom_rule.h"
#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

InferResult InferCustomGradient(Types inputs, const Attributes& attributes) {
  const absl::StatusOr<CustomForm> form = CustomForm::Read(attributes);
  if (!form.ok()) return OpError{.code = Code::kE0409, .message = std::string(form.status().message())};
  const int64_t input = attributes.Get(attribute::kInput);
  if (form->Tensors().size() + 1 != inputs.size() || input < 0 || input + 1 >= static_cast<int64_t>(inputs.size())) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("the gradient of `", form->name, "` by input ", input, " of ",
                                           form->Tensors().size(), " from ", inputs.size(), " tensors")};
  }
  if (auto error = CheckDType(inputs, 0, DType::kF32, "dy")) return *error;
  if (auto error = CheckDType(inputs, static_cast<int>(input) + 1, DType::kF32, "x")) return *error;
  const absl::StatusOr<Rule> rule = CustomOpRule(*form, inputs.subspan(1), inputs[0].shape);
  if (!rule.ok()) return OpError{.code = Code::kE0520, .message = std::string(rule.status().message())};
  return inputs[static_cast<size_t>(input) + 1];
}

Rule CustomGradientRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const absl::StatusOr<Rule> forward = CustomOpRule(FormOf(attributes), inputs.subspan(1), inputs[0].shape);
  CLEAVE_CHECK(forward.ok()) << forward.status().message();
  return CustomGradientRuleOf(*forward, static_cast<size_t>(attributes.Get(attribute::kInput)));
}

Flops CustomGradientFlops(Types inputs, const TensorType& output, const Attributes&) {
  double elements = static_cast<double>(output.elements());
  for (const TensorType& input : inputs) elements += static_cast<double>(input.elements());
  return Flops(elements);
}

void EvaluateCustomGradient(const Evaluation& evaluation) {
  const CustomForm form = FormOf(evaluation.attributes);
  const absl::Span<const Tensor* const> inputs = evaluation.inputs.subspan(1);
  const Tensor& dy = *evaluation.inputs[0];
  const Rule forward = LocalCustomRule(form, inputs, dy.shape);
  CustomReference(form.name, forward, evaluation.ranges)
      .Backward(dy, inputs, static_cast<size_t>(evaluation.attributes.Get(attribute::kInput)), evaluation.output);
}

}  // namespace

OpDefinition DefineCustomGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = CustomSignature({RequiredAttribute(attribute::kInput)}),
                      .summary = "gradient of an op that the model defines by one of its inputs",
                      .infer = InferCustomGradient,
                      .rule = CustomGradientRule,
                      .flops = CustomGradientFlops,
                      .evaluate = EvaluateCustomGradient};
}

}  // namespace cleave
