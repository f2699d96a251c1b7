#include "codegen/codegen.h"

#include "absl/strings/match.h"
#include "base/status/status_macros.h"
#include "codegen/cpu/build_files.h"
#include "codegen/cpu/program_text.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave {

absl::StatusOr<std::vector<GeneratedFile>> GenerateCpu(const Graph& graph, const Program& program,
                                                       const Training& training, const CodegenOptions& options) {
  std::vector<GeneratedFile> files;
  CLEAVE_ASSIGN_OR_RETURN(std::string text, CpuProgramText(graph, program, training, options.rank));
  files.push_back({.path = "program.cc", .text = std::move(text)});
  std::vector<std::string> sources;
  for (const RuntimeFile& file : RuntimeFiles()) {
    const std::string path(file.path);
    if (absl::EndsWith(path, ".cc")) sources.push_back(path);
    files.push_back({.path = path, .text = std::string(file.text)});
  }
  files.push_back({.path = "Makefile", .text = CpuMakefile(sources)});
  files.push_back({.path = "run.sh", .text = CpuRunScript(program.mesh.rank_count()), .executable = true});
  return files;
}

}  // namespace cleave
