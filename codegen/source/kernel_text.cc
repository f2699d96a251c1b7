#include "codegen/source/kernel_text.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave::codegen {
namespace {

// Every word of the runtime, also of its comments, that begins with a capital letter.
std::set<std::string> WordsOfRuntime() {
  std::set<std::string> words;
  for (const RuntimeFile& file : RuntimeFiles()) {
    std::string word;
    for (const char c : file.text) {
      const auto byte = static_cast<unsigned char>(c);
      if (absl::ascii_isalnum(byte) || c == '_') {
        word.push_back(c);
        continue;
      }
      if (!word.empty() && absl::ascii_isupper(static_cast<unsigned char>(word[0]))) words.insert(word);
      word.clear();
    }
  }
  return words;
}

// The program may have a function of this name for one element of the op.
bool IsOp(absl::string_view name) {
  for (const ir::OpKind kind : ir::AllOpKinds()) {
    if (TypeName(ir::OpKindName(kind)) == name) return true;
  }
  return false;
}

std::string KernelName(Emission& emission, absl::string_view wish) {
  static const auto* const runtime = new std::set<std::string>(WordsOfRuntime());
  std::string name(wish);
  if (runtime->count(name) > 0 || IsOp(name)) absl::StrAppend(&name, "Kernel");
  std::string candidate = name;
  for (int number = 2; runtime->count(candidate) > 0 || !emission.identifiers.Take(candidate); ++number) {
    candidate = absl::StrCat(name, "_", number);
  }
  return candidate;
}

}  // namespace

const std::string& WriteKernel(Emission& emission, const KernelText& kernel) {
  const std::string parameters = absl::StrJoin(kernel.parameters, "\n");
  std::string& name =
      emission.kernel_names[absl::StrCat(kernel.template_head, "\n", parameters, "\n", kernel.body.text())];
  if (!name.empty()) return name;
  name = KernelName(emission, kernel.wish);
  SourceWriter& writer = emission.kernels;
  writer.Gap();
  if (!kernel.template_head.empty()) writer.Line(kernel.template_head);
  writer.Function(absl::StrCat(kernel.result, " ", name, "("), kernel.parameters, ") {");
  writer.Append(kernel.body);
  writer.Line("}");
  return name;
}

}  // namespace cleave::codegen
