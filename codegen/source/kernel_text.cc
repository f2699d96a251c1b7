#include "codegen/source/kernel_text.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave::codegen {
namespace {

bool IsLetter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether a word stands anywhere in the runtime, also in its comments.
bool IsWordOfRuntime(absl::string_view word) {
  for (const RuntimeFile& file : RuntimeFiles()) {
    for (size_t at = file.text.find(word); at != absl::string_view::npos; at = file.text.find(word, at + 1)) {
      const size_t end = at + word.size();
      const bool begins = at == 0 || !IsLetter(file.text[at - 1]);
      if (begins && (end == file.text.size() || !IsLetter(file.text[end]))) return true;
    }
  }
  return false;
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

}  // namespace cleave::codegen
