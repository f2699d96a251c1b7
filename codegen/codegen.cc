#include "codegen/codegen.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cuda/cuda.h"
#include "codegen/program/program.h"
#include "codegen/runtime_files/needed_files.h"
#include "codegen/runtime_files/runtime_files.h"
#include "codegen/source/source.h"
#include "ir/program/program.h"

namespace cleave::codegen {

namespace {

bool IsSource(absl::string_view path) { return absl::EndsWith(path, ".cc") || absl::EndsWith(path, ".cu"); }

// Which target has a folder of the runtime, by the folder's own name: "onednn" for "runtime/math/onednn". All targets
// have the other folders.
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

// The runtime's files that a program of the target with this text needs.
std::vector<NeededFile> RuntimeOf(const Target& target, absl::string_view program) {
  std::vector<RuntimeFile> files;
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (IsForTarget(file.path, target)) files.push_back(file);
  }
  return NeededFiles(program, files);
}

// The folders with sources, those with most text first: they take longest to compile, so they should begin first.
std::vector<std::string> FoldersWithSources(const std::vector<NeededFile>& files) {
  std::map<std::string, size_t> bytes;
  for (const NeededFile& file : files) {
    if (IsSource(file.path)) bytes[file.path.substr(0, file.path.rfind('/'))] += file.text.size();
  }
  std::vector<std::string> folders;
  for (const auto& [folder, size] : bytes) folders.push_back(folder);
  std::stable_sort(folders.begin(), folders.end(),
                   [&](const std::string& a, const std::string& b) { return bytes[a] > bytes[b]; });
  return folders;
}

// Whether one of them includes a library's header.
bool Include(const std::vector<NeededFile>& files, absl::string_view header) {
  const std::string line = absl::StrCat("#include <", header, ">");
  return std::any_of(files.begin(), files.end(),
                     [&](const NeededFile& file) { return absl::StrContains(file.text, line); });
}

using MakefileOf = std::string (*)(const ProgramSources& sources);

absl::StatusOr<std::vector<GeneratedFile>> Generate(const Target& target, MakefileOf makefile,
                                                    const CodegenInput& input, const CodegenOptions& options) {
  CLEAVE_ASSIGN_OR_RETURN(std::string text, ProgramText(target, input, {options.rank, options.repeats_layers}));
  std::vector<NeededFile> runtime = RuntimeOf(target, text);
  std::vector<GeneratedFile> files = {{.path = std::string(target.source_file), .text = std::move(text)}};
  files.push_back({.path = "Makefile",
                   .text = makefile({.folders = FoldersWithSources(runtime),
                                     .read_compressed_files = Include(runtime, "zlib.h"),
                                     .read_tokenizers = Include(runtime, "pcre2.h"),
                                     .read_images = Include(runtime, "png.h")})});
  files.push_back({.path = "run.sh",
                   .text = RunScript(ir::RankMesh(input.program).rank_count(), options.launch),
                   .executable = true});
  for (NeededFile& file : runtime) files.push_back({.path = std::move(file.path), .text = std::move(file.text)});
  return files;
}

}  // namespace

absl::StatusOr<std::vector<GeneratedFile>> GenerateCpu(const CodegenInput& input, const CodegenOptions& options) {
  return Generate(CpuTarget(), CpuMakefile, input, options);
}

absl::StatusOr<std::vector<GeneratedFile>> GenerateCuda(const CodegenInput& input, const CodegenOptions& options) {
  return Generate(CudaTarget(), CudaMakefile, input, options);
}

ir::FuseOptions FusedByCpu() { return CpuTarget().fuse; }
ir::FuseOptions FusedByCuda() { return CudaTarget().fuse; }
int64_t LargestAttentionHeadOnCpu() { return CpuTarget().largest_attention_head; }
int64_t LargestAttentionHeadOnCuda() { return CudaTarget().largest_attention_head; }

}  // namespace cleave::codegen
