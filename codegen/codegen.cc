#include "codegen/codegen.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/status/status_macros.h"
#include "codegen/cpu/cpu.h"
#include "codegen/source/source.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave {

namespace {

bool HasEinsum(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const auto* compute = std::get_if<Compute>(&step.action);
    return compute != nullptr && compute->kind == "einsum";
  });
}

bool ReadsNpy(const Program& program, const std::string& data) {
  return data == "npy" || std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
           const auto* compute = std::get_if<Compute>(&step.action);
           return compute != nullptr && compute->kind == "parameter" && compute->attributes.GetString("init") == "npy";
         });
}

// The sources that only some programs need (runtime/data/README.md, runtime/einsum): what a program does not name is
// left out, which is a good part of the time to compile it.
bool IsNeeded(absl::string_view path, const Program& program, const std::string& data) {
  if (absl::StartsWith(path, "runtime/einsum/") && absl::EndsWith(path, ".cc")) return HasEinsum(program);
  if (absl::StartsWith(path, "runtime/npy/") && absl::EndsWith(path, ".cc")) return ReadsNpy(program, data);
  static const auto* const users = new std::map<std::string, std::set<std::string>>{
      {"digits.cc", {"digits"}}, {"file.cc", {"mnist", "tokens"}},
      {"idx.cc", {"mnist"}},     {"images.cc", {"digits", "mnist"}},
      {"inflate.cc", {"mnist"}}, {"mnist.cc", {"mnist"}},
      {"npy.cc", {"npy"}},       {"synthetic.cc", {"synthetic"}},
      {"tokens.cc", {"tokens"}},
  };
  if (!absl::ConsumePrefix(&path, "runtime/data/")) return true;
  const auto found = users->find(std::string(path));
  return found == users->end() || found->second.count(data) > 0;
}

// The folders with sources, those with most text first: they take longest to compile, and begun last they would be
// waited for.
std::vector<std::string> FoldersWithSources(const std::vector<GeneratedFile>& files) {
  std::map<std::string, size_t> bytes;
  for (const GeneratedFile& file : files) {
    if (absl::EndsWith(file.path, ".cc")) bytes[file.path.substr(0, file.path.rfind('/'))] += file.text.size();
  }
  std::vector<std::string> folders;
  for (const auto& [folder, size] : bytes) folders.push_back(folder);
  std::stable_sort(folders.begin(), folders.end(),
                   [&](const std::string& a, const std::string& b) { return bytes[a] > bytes[b]; });
  return folders;
}

}  // namespace

absl::StatusOr<std::vector<GeneratedFile>> GenerateCpu(const Graph& graph, const Program& program,
                                                       const Training& training, const CodegenOptions& options) {
  CLEAVE_ASSIGN_OR_RETURN(std::string text, ProgramText(CpuTarget(), graph, program, training, options.rank));
  std::vector<GeneratedFile> runtime;
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (!IsNeeded(file.path, program, training.data.kind)) continue;
    runtime.push_back({.path = std::string(file.path), .text = std::string(file.text)});
  }
  std::vector<GeneratedFile> files = {{.path = "program.cc", .text = std::move(text)}};
  files.push_back({.path = "Makefile", .text = CpuMakefile(FoldersWithSources(runtime))});
  files.push_back(
      {.path = "run.sh", .text = RunScript(program.mesh.rank_count(), options.launch), .executable = true});
  files.insert(files.end(), runtime.begin(), runtime.end());
  return files;
}

}  // namespace cleave
