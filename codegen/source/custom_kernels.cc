// Ops that the model defines: calls of their C++ bodies, which stand in headers of their own.
#include "codegen/source/custom_kernels.h"

#include "base/check/check.h"
#include "codegen/source/kernel.h"
#include "ir/custom/custom.h"

namespace cleave {
namespace {

CustomForm FormOf(const Compute& compute) {
  absl::StatusOr<CustomForm> form = CustomForm::Read(compute.attributes);
  CLEAVE_CHECK(form.ok()) << form.status().message();
  return *std::move(form);
}

// "{x, Region{{256, 512}, {piece_256_m0.begin, 0}, {k256By4, 512}}}": what a View is made from.
std::string ViewText(const Kernel& kernel, ValueId value) {
  return absl::StrCat("{", kernel.emission.names[value], ", ", kernel.emission.sizes.RegionText(value), "}");
}

std::string NumberText(const std::variant<bool, int64_t, double>& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const int64_t* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  return FloatLiteral(std::get<double>(value));
}

// The arguments of the signature, in its order; the tensors begin at input `first`.
void AppendArguments(const Kernel& kernel, const CustomForm& form, size_t first, std::vector<std::string>& arguments) {
  for (const CustomArgument& argument : form.arguments) {
    arguments.push_back(argument.value ? NumberText(*argument.value)
                                       : ViewText(kernel, kernel.compute.inputs[first++]));
  }
}

// `::`, because a value of the program may have the name of the op.
void Call(const Kernel& kernel, const std::string& function, std::vector<std::string> arguments) {
  arguments.push_back(ViewText(kernel, kernel.compute.output));
  kernel.Call(absl::StrCat("::", function), arguments);
}

void Custom(const Kernel& kernel) {
  const CustomForm form = FormOf(kernel.compute);
  std::vector<std::string> arguments;
  AppendArguments(kernel, form, 0, arguments);
  Call(kernel, form.name, std::move(arguments));
}

void CustomGradient(const Kernel& kernel) {
  const CustomForm form = FormOf(kernel.compute);
  std::vector<DType> dtypes;
  for (size_t i = 1; i < kernel.compute.inputs.size(); ++i) dtypes.push_back(kernel.input(i).type.dtype);
  std::vector<std::string> arguments = {ViewText(kernel, kernel.compute.inputs[0])};
  AppendArguments(kernel, form, 1, arguments);
  const auto input = static_cast<size_t>(kernel.compute.attributes.Get(attribute::kInput));
  Call(kernel, BackwardName(form, dtypes, input), std::move(arguments));
}

}  // namespace

void AddCustomKernels(Emitters& emitters) {
  emitters[OpKind::kCustom] = Custom;
  emitters[OpKind::kCustomGradient] = CustomGradient;
}

std::set<std::string> CustomHeaders(const Program& program) {
  std::set<std::string> headers;
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr || (compute->kind != OpKind::kCustom && compute->kind != OpKind::kCustomGradient)) continue;
    headers.insert(FormOf(*compute).body);
  }
  return headers;
}

}  // namespace cleave
