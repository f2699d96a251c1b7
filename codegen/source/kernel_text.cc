#include "codegen/source/kernel_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave::codegen {
namespace {

// Whether a word stands anywhere in the runtime, also in its comments.
bool IsWordOfRuntime(absl::string_view word) {
  const auto& files = RuntimeFiles();
  return std::any_of(files.begin(), files.end(), [&](const RuntimeFile& file) { return HasWord(file.text, word); });
}

// The program may have a function of this name for one element of the op.
bool IsOp(absl::string_view name) {
  for (const ir::OpKind kind : ir::AllOpKinds()) {
    if (TypeName(ir::OpKindName(kind)) == name) return true;
  }
  return false;
}

std::string KernelName(Emission& emission, absl::string_view wish) {
  std::string name(wish);
  if (IsWordOfRuntime(name) || IsOp(name)) absl::StrAppend(&name, "Kernel");
  std::string candidate = name;
  for (int number = 2; IsWordOfRuntime(candidate) || !emission.identifiers.Take(candidate); ++number) {
    candidate = absl::StrCat(name, "_", number);
  }
  return candidate;
}

}  // namespace

const std::string& WriteKernel(Emission& emission, KernelText kernel) {
  std::string& name = emission.definitions.kernel_names[absl::StrCat(kernel.head.Text(), "\n", kernel.body.Text())];
  if (!name.empty()) return name;
  name = kernel.head.name = KernelName(emission, kernel.wish);
  emission.definitions.kernels.Gap();
  emission.definitions.kernels.Open(kernel.head).Append(std::move(kernel.body));
  return name;
}

const std::string& WriteKernelStruct(Emission& emission, absl::string_view wish, cpp::Code fields) {
  std::string& name = emission.definitions.kernel_names[absl::StrCat("struct ", wish, "\n", fields.Text())];
  if (!name.empty()) return name;
  name = KernelName(emission, wish);
  emission.definitions.kernels.Gap();
  emission.definitions.kernels.Open(cpp::Struct{name}).Append(std::move(fields));
  return name;
}

}  // namespace cleave::codegen
