#include "codegen/codegen.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "base/status/status_macros.h"
#include "codegen/cpu/build_files.h"
#include "codegen/cpu/program_text.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave {

namespace {

// The folders with sources, those with most text first: they take longest to compile, and begun last they would be
// waited for.
std::vector<std::string> RuntimeFolders() {
  std::map<std::string, size_t> bytes;
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (!absl::EndsWith(file.path, ".cc")) continue;
    bytes[std::string(file.path.substr(0, file.path.rfind('/')))] += file.text.size();
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
  std::vector<GeneratedFile> files;
  CLEAVE_ASSIGN_OR_RETURN(std::string text, CpuProgramText(graph, program, training, options.rank));
  files.push_back({.path = "program.cc", .text = std::move(text)});
  for (const RuntimeFile& file : RuntimeFiles()) {
    files.push_back({.path = std::string(file.path), .text = std::string(file.text)});
  }
  files.push_back({.path = "Makefile", .text = CpuMakefile(RuntimeFolders())});
  files.push_back({.path = "run.sh", .text = CpuRunScript(program.mesh.rank_count()), .executable = true});
  return files;
}

}  // namespace cleave
