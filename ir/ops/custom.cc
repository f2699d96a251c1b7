// An op that a model defines, with a C++ body that the compiler never sees: what it knows is the declared rule.
#include "ir/custom/custom.h"

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/ops/custom_reference.h"
#include "ir/ops/custom_rule.h"
#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
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

// What the body does is not known: an operation per element that it reads or writes is the least.
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
      .resize = ResizeShape};
}

}  // namespace cleave
