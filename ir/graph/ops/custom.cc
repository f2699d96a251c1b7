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
  const absl::StatusOr<Rule> rule = BatchedCustomRule(attributes, inputs, output.shape);
  if (rule.ok()) return output;
  OpError error{
      .code = Code::kE0520,
      .message = absl::StrCat("the rule of `", form->name, "` does not fit this call: ", rule.status().message()),
      .notes = {absl::StrCat("the rule is `", form->rule, "`, the result ", output.ToString())}};
  for (size_t i = 0; i < inputs.size(); ++i) error.about.push_back({static_cast<int>(i), ""});
  return error;
}

Rule CustomRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  absl::StatusOr<Rule> rule = BatchedCustomRule(attributes, inputs, output.shape);
  CLEAVE_CHECK(rule.ok()) << rule.status().message();
  return *std::move(rule);
}

// Each element has its own gradient by an input that all share.
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
    if (BatchOf(op.attributes) > 0) {
      attributes.Set(attribute::kBatch, op.attributes.Get(attribute::kBatch));
      attributes.Set(attribute::kShared, op.attributes.Get(attribute::kShared));
    }
    const std::string name = GradientName(op, form.Tensors()[i]);
    const OpId gradient = builder.Add(OpKind::kCustomGradient, inputs, attributes, name);
    gradients.back() = SumToType(builder, gradient, builder.type(op.inputs[i]), name);
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
  const auto shared = [&](size_t input) { return IsShared(evaluation.attributes, input); };
  ForEachSlice(evaluation, shared, [&](const Evaluation& slice) {
    const Rule rule = LocalCustomRule(form, slice.inputs, slice.output.shape);
    CustomReference(form.name, rule, slice.ranges).Forward(slice.inputs, slice.output);
  });
}

// A further level of elements. An input has the dimensions of all levels or of none, so one that an outer level maps
// and an inner one shares is repeated along the inner ones.
OpId BatchCustom(Lift& lift) {
  const Op& op = lift.op();
  const size_t batch = BatchOf(op.attributes);
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kBatch, static_cast<int64_t>(batch) + 1);
  attributes.Set(attribute::kShape, Before(lift.size(), op.attributes.Get(attribute::kShape)));
  std::vector<int64_t> shared;
  std::vector<OpId> inputs;
  for (int i = 0; i < lift.input_count(); ++i) {
    if (!IsShared(op.attributes, static_cast<size_t>(i))) {
      inputs.push_back(lift.Whole(i));
    } else if (!lift.mapped(i)) {
      shared.push_back(i);
      inputs.push_back(lift.value(i));
    } else {
      Shape repeated(op.type.shape.begin(), op.type.shape.begin() + static_cast<int64_t>(batch));
      const Shape element = lift.element(i);
      const OpId aligned = lift.Aligned(i, static_cast<int>(batch + element.size()));
      repeated.insert(repeated.end(), element.begin(), element.end());
      inputs.push_back(batch == 0 ? aligned
                                  : lift.Step(OpKind::kBroadcastTo, {aligned},
                                              {{attribute::kShape, Before(lift.size(), repeated)}}));
    }
  }
  attributes.Set(attribute::kShared, shared);
  return lift.Main(inputs, attributes);
}

std::vector<KernelCall> CustomCalls(const CallSite& site) {
  const CustomForm form = FormOf(site.attributes);
  return {CustomCall(site, form, form.name, false)};
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
  const absl::StatusOr<Rule> rule = BatchedCustomRule(attributes, inputs.subspan(1), inputs[0].shape);
  if (!rule.ok()) return OpError{.code = Code::kE0520, .message = std::string(rule.status().message())};
  TensorType output = inputs[static_cast<size_t>(input) + 1];
  if (IsShared(attributes, static_cast<size_t>(input))) {
    const Shape& dy = inputs[0].shape;
    output.shape.insert(output.shape.begin(), dy.begin(), dy.begin() + static_cast<int64_t>(BatchOf(attributes)));
  }
  return output;
}

Rule CustomGradientRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const absl::StatusOr<Rule> forward = BatchedCustomRule(attributes, inputs.subspan(1), inputs[0].shape);
  CLEAVE_CHECK(forward.ok()) << forward.status().message();
  return CustomGradientRuleOf(*forward, attributes);
}

Flops CustomGradientFlops(Types inputs, const TensorType& output, const Attributes&) {
  double elements = static_cast<double>(output.elements());
  for (const TensorType& input : inputs) elements += static_cast<double>(input.elements());
  return Flops(elements);
}

void EvaluateCustomGradient(const Evaluation& evaluation) {
  const CustomForm form = FormOf(evaluation.attributes);
  const auto by = static_cast<size_t>(evaluation.attributes.Get(attribute::kInput));
  const auto shared = [&](size_t input) { return input > 0 && IsShared(evaluation.attributes, input - 1); };
  ForEachSlice(evaluation, shared, [&](const Evaluation& slice) {
    const absl::Span<const Tensor* const> inputs = slice.inputs.subspan(1);
    const Rule forward = LocalCustomRule(form, inputs, slice.inputs[0]->shape);
    CustomReference(form.name, forward, slice.ranges).Backward(*slice.inputs[0], inputs, by, slice.output);
  });
}

std::vector<KernelCall> CustomGradientCalls(const CallSite& site) {
  const CustomForm form = FormOf(site.attributes);
  std::vector<DType> dtypes;
  for (const TensorType& input : site.inputs.subspan(1)) dtypes.push_back(input.dtype);
  const auto input = static_cast<size_t>(site.attributes.Get(attribute::kInput));
  return {CustomCall(site, form, BackwardName(form, dtypes, input), true)};
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
      .batch = BatchCustom,
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
