#include "codegen/codegen.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/status/status_macros.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cuda/cuda.h"
#include "codegen/runtime_files/runtime_files.h"
#include "codegen/source/source.h"
#include "ir/program/program.h"

namespace cleave {

namespace {

bool HasEinsum(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const auto* compute = std::get_if<Compute>(&step.action);
    return compute != nullptr && compute->kind == OpKind::kEinsum;
  });
}

bool ReadsNpy(const Program& program, const std::string& data) {
  return data == "npy" || std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
           const auto* compute = std::get_if<Compute>(&step.action);
           return compute != nullptr && compute->kind == OpKind::kParameter &&
                  compute->attributes.Get(attribute::kInit) == "npy";
         });
}

bool IsSource(absl::string_view path) { return absl::EndsWith(path, ".cc") || absl::EndsWith(path, ".cu"); }

// Folders of the runtime by their own names, "runtime/math/onednn": which target has them. Others are for all.
const std::map<absl::string_view, const Target*>& FoldersOfTargets() {
  static const auto* const folders = new std::map<absl::string_view, const Target*>{
      {"cpu", &CpuTarget()},  {"cublas", &CudaTarget()}, {"cuda", &CudaTarget()},  {"cudnn", &CudaTarget()},
      {"host", &CpuTarget()}, {"nccl", &CudaTarget()},   {"onednn", &CpuTarget()},
  };
  return *folders;
}

bool IsForTarget(absl::string_view path, const Target& target) {
  const absl::string_view folder = path.substr(0, path.rfind('/'));
  const auto found = FoldersOfTargets().find(folder.substr(folder.rfind('/') + 1));
  return found == FoldersOfTargets().end() || found->second == &target;
}

// The sources that only some programs need (runtime/data/README.md, runtime/einsum): what a program does not name is
// left out, which is a good part of the time to compile it.
bool IsNeeded(absl::string_view path, const Program& program, const std::string& data) {
  if (absl::StartsWith(path, "runtime/einsum/") && IsSource(path)) return HasEinsum(program);
  if (absl::StartsWith(path, "runtime/npy/") && IsSource(path)) return ReadsNpy(program, data);
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
    if (IsSource(file.path)) bytes[file.path.substr(0, file.path.rfind('/'))] += file.text.size();
  }
  std::vector<std::string> folders;
  for (const auto& [folder, size] : bytes) folders.push_back(folder);
  std::stable_sort(folders.begin(), folders.end(),
                   [&](const std::string& a, const std::string& b) { return bytes[a] > bytes[b]; });
  return folders;
}

using Makefile = std::string (*)(const std::vector<std::string>& folders);

absl::StatusOr<std::vector<GeneratedFile>> Generate(const Target& target, Makefile makefile, const CodegenInput& input,
                                                    const CodegenOptions& options) {
  const Program& program = input.program;
  CLEAVE_ASSIGN_OR_RETURN(std::string text, ProgramText(target, input, options.rank));
  std::vector<GeneratedFile> runtime;
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (!IsForTarget(file.path, target) || !IsNeeded(file.path, program, input.training.data.kind)) continue;
    runtime.push_back({.path = std::string(file.path), .text = std::string(file.text)});
  }
  std::vector<GeneratedFile> files = {{.path = std::string(target.source_file), .text = std::move(text)}};
  files.push_back({.path = "Makefile", .text = makefile(FoldersWithSources(runtime))});
  files.push_back({.path = "run.sh", .text = RunScript(program.mesh.rank_count(), options.launch), .executable = true});
  files.insert(files.end(), runtime.begin(), runtime.end());
  return files;
}

}  // namespace

absl::StatusOr<std::vector<GeneratedFile>> GenerateCpu(const CodegenInput& input, const CodegenOptions& options) {
  return Generate(CpuTarget(), CpuMakefile, input, options);
}

absl::StatusOr<std::vector<GeneratedFile>> GenerateCuda(const CodegenInput& input, const CodegenOptions& options) {
  return Generate(CudaTarget(), CudaMakefile, input, options);
}

FuseOptions FusedByCpu() { return CpuTarget().fuse; }
FuseOptions FusedByCuda() { return CudaTarget().fuse; }

}  // namespace cleave
