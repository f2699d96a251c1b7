// An op that a model defines, with a C++ body that the compiler never sees: the compiler knows only the declared rule.

#include "ir/graph/custom/custom.h"

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/graph/ops/custom_reference.h"
#include "ir/graph/ops/custom_rule.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferCustom(Types inputs, const Attributes& attributes) {
  const absl::StatusOr<CustomForm> form = CustomForm::Read(attributes);
  if (!form.ok()) return OpError{.code = Code::kE0409, .message = std::string(form.status().message())};
  const TensorType output{attributes.Get(attribute::kDType), attributes.Get(attribute::kShape)};
  if (auto error = CheckSizes(output.shape, "shape")) return *error;
  if (form->Tensors().size() != inputs.size()) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`", form->name, "` takes ",
                                           Plural(static_cast<int64_t>(form->Tensors().size()), "tensor"), ", found ",
                                           inputs.size())};
  }
  const absl::StatusOr<Rule> rule = CustomOpRule(*form, inputs, output.shape);
  if (rule.ok()) return output;
  OpError error{
      .code = Code::kE0520,
      .message = absl::StrCat("the rule of `", form->name, "` does not fit this call: ", rule.status().message()),
      .notes = {absl::StrCat("the rule is `", form->rule, "`, the result ", output.ToString())}};
  for (size_t i = 0; i < inputs.size(); ++i) error.about.push_back({static_cast<int>(i), ""});
  return error;
}

Rule CustomRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  absl::StatusOr<Rule> rule = CustomOpRule(FormOf(attributes), inputs, output.shape);
  CLEAVE_CHECK(rule.ok()) << rule.status().message();
  return *std::move(rule);
}

Gradients CustomGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const CustomForm form = FormOf(op.attributes);
  std::vector<OpId> inputs = {dy};
  inputs.insert(inputs.end(), op.inputs.begin(), op.inputs.end());
  Gradients gradients;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    gradients.emplace_back();
    if (builder.type(op.inputs[i]).dtype != DType::kF32) continue;
    Attributes attributes = {{attribute::kInput, static_cast<int64_t>(i)}};
    form.Write(attributes);
    gradients.back() = builder.Add(OpKind::kCustomGradient, inputs, attributes, GradientName(op, form.Tensors()[i]));
  }
  return gradients;
}

// The work of the body is not known. The least is one operation for each element that it reads or writes.
Flops CustomFlops(Types inputs, const TensorType& output, const Attributes&) {
  double elements = static_cast<double>(output.elements());
  for (const TensorType& input : inputs) elements += static_cast<double>(input.elements());
  return Flops(elements);
}

void EvaluateCustom(const Evaluation& evaluation) {
  const CustomForm form = FormOf(evaluation.attributes);
  const Rule rule = LocalCustomRule(form, evaluation.inputs, evaluation.output.shape);
  CustomReference(form.name, rule, evaluation.ranges).Forward(evaluation.inputs, evaluation.output);
}

std::vector<KernelCall> CustomCalls(const CallSite& site) {
  const CustomForm form = FormOf(site.attributes);
  return {CustomCall(form, form.name, {}, 0)};
}

// The gradient of an op that a model defines by one of its inputs: (dy, the inputs of the op) -> like input `input`.
// Its body is the backward function beside the op's.

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

std::vector<KernelCall> CustomGradientCalls(const CallSite& site) {
  const CustomForm form = FormOf(site.attributes);
  std::vector<DType> dtypes;
  for (const TensorType& input : site.inputs.subspan(1)) dtypes.push_back(input.dtype);
  const auto input = static_cast<size_t>(site.attributes.Get(attribute::kInput));
  return {CustomCall(form, BackwardName(form, dtypes, input), {ViewArgument(0)}, 1)};
}

}  // namespace

OpDefinition DefineCustom() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .signature = CustomSignature({RequiredAttribute(attribute::kDType), RequiredAttribute(attribute::kShape)}),
      .summary = "an op that the model defines",
      .infer = InferCustom,
      .rule = CustomRule,
      .gradient = CustomGradients,
      .flops = CustomFlops,
      .evaluate = EvaluateCustom,
      .resize = ResizeShape,
      // Its body is written for the shapes of its signature.
      .batch = Unrolled,
      .calls = CustomCalls};
}

OpDefinition DefineCustomGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = CustomSignature({RequiredAttribute(attribute::kInput)}),
                      .summary = "gradient of an op that the model defines by one of its inputs",
                      .infer = InferCustomGradient,
                      .rule = CustomGradientRule,
                      .flops = CustomGradientFlops,
                      .evaluate = EvaluateCustomGradient,
                      .calls = CustomGradientCalls};
}

}  // namespace cleave::ir
