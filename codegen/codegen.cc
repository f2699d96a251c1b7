#include "codegen/codegen.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cuda/cuda.h"
#include "codegen/program/program.h"
#include "codegen/runtime_files/needed_files.h"
#include "codegen/runtime_files/runtime_files.h"
#include "codegen/source/source.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::codegen {

namespace {

bool IsSource(absl::string_view path) { return absl::EndsWith(path, ".cc") || absl::EndsWith(path, ".cu"); }

// Which target has a folder of the runtime, by the folder's own name: "onednn" for "runtime/math/onednn". All targets
// have the other folders.
const std::map<absl::string_view, const Target*>& FoldersOfTargets() {
  static const auto* const folders = new std::map<absl::string_view, const Target*>{
      {"cpu", &CpuTarget()},  {"cublas", &CudaTarget()}, {"cuda", &CudaTarget()}, {"cudnn", &CudaTarget()},
      {"gloo", &CpuTarget()}, {"host", &CpuTarget()},    {"nccl", &CudaTarget()}, {"onednn", &CpuTarget()},
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

// A program's text, and the number of ranks that it is for.
struct TextOfRanks {
  std::string text;
  int ranks = 1;
};

// The first of these programs, the others in folders of their own, their part of the runtime, and what builds and
// starts them.
std::vector<GeneratedFile> FilesOf(const Target& target, MakefileOf makefile, std::vector<TextOfRanks> programs,
                                   const LaunchDefault& launch) {
  std::string all_text;
  std::vector<int> ranks;
  std::vector<GeneratedFile> files;
  for (TextOfRanks& program : programs) {
    absl::StrAppend(&all_text, program.text);
    const std::string folder = ranks.empty() ? "" : absl::StrCat(FolderOfRanks(program.ranks), "/");
    ranks.push_back(program.ranks);
    files.push_back({.path = absl::StrCat(folder, target.source_file), .text = std::move(program.text)});
  }
  std::vector<NeededFile> runtime = RuntimeOf(target, all_text);
  files.push_back({.path = "Makefile",
                   .text = makefile({.folders = FoldersWithSources(runtime),
                                     .also = {ranks.begin() + 1, ranks.end()},
                                     .read_compressed_files = Include(runtime, "zlib.h"),
                                     .read_tokenizers = Include(runtime, "pcre2.h"),
                                     .read_images = Include(runtime, "png.h")})});
  files.push_back({.path = "run.sh", .text = RunScript(ranks, target.meeting_comm, launch), .executable = true});
  for (NeededFile& file : runtime) files.push_back({.path = std::move(file.path), .text = std::move(file.text)});
  return files;
}

absl::StatusOr<std::vector<GeneratedFile>> Generate(const Target& target, MakefileOf makefile,
                                                    const CodegenInput& input, const CodegenOptions& options) {
  std::vector<TextOfRanks> programs;
  const auto add = [&](const CodegenInput& own, const TextOptions& how) -> absl::Status {
    CLEAVE_ASSIGN_OR_RETURN(std::string text, ProgramText(target, own, how));
    programs.push_back({.text = std::move(text), .ranks = ir::RankMesh(own.program).rank_count()});
    return absl::OkStatus();
  };
  CLEAVE_RETURN_IF_ERROR(add(input, {options.rank, options.repeats_layers}));
  for (const CodegenInput& other : options.also) CLEAVE_RETURN_IF_ERROR(add(other, {}));
  return FilesOf(target, makefile, std::move(programs), options.launch);
}

std::string MeasuringText(const HostsToMeasure& hosts, int64_t most_bytes) {
  const auto axes = [](int64_t count) { return absl::StrJoin(ir::PrimeFactors(count), ", "); };
  return absl::StrCat("// Measures what ", hosts.hosts * hosts.ranks_on_host == 1 ? "a rank does" : "ranks do",
                      " in a second, for a cluster file.\n"
                      "//\n"
                      "// Written by cleave. `make` builds it, `./run.sh` starts it.\n"
                      "#include \"runtime/measure/measure.h\"\n\n"
                      "int main(int argc, char** argv) {\n"
                      "  cleave::runtime::MeasuredMachines machines;\n"
                      "  machines.network = {",
                      axes(hosts.hosts), "};  // ", Plural(hosts.hosts, "host"), ".\n  machines.host = {",
                      axes(hosts.ranks_on_host), "};  // ", Plural(hosts.ranks_on_host, "rank"),
                      " of each.\n  machines.most_bytes = ", most_bytes,
                      ";\n  return cleave::runtime::Measure(argc, argv, machines);\n}\n");
}

std::vector<GeneratedFile> Measuring(const Target& target, MakefileOf makefile, const HostsToMeasure& hosts,
                                     const LaunchDefault& launch) {
  // A collective gets half of it, and three matrices all.
  const int64_t most_bytes = target.is_device ? int64_t{1} << 30 : kBytesMeasuredWithOnCpu;
  return FilesOf(
      target, makefile,
      {{.text = MeasuringText(hosts, most_bytes), .ranks = static_cast<int>(hosts.hosts * hosts.ranks_on_host)}},
      launch);
}

}  // namespace

std::string FolderOfRanks(int ranks) { return absl::StrCat("ranks_", ranks); }

absl::StatusOr<std::vector<GeneratedFile>> GenerateCpu(const CodegenInput& input, const CodegenOptions& options) {
  return Generate(CpuTarget(), CpuMakefile, input, options);
}

absl::StatusOr<std::vector<GeneratedFile>> GenerateCuda(const CodegenInput& input, const CodegenOptions& options) {
  return Generate(CudaTarget(), CudaMakefile, input, options);
}

std::vector<GeneratedFile> MeasuringForCpu(const HostsToMeasure& hosts, const LaunchDefault& launch) {
  return Measuring(CpuTarget(), CpuMakefile, hosts, launch);
}

std::vector<GeneratedFile> MeasuringForCuda(const HostsToMeasure& hosts, const LaunchDefault& launch) {
  return Measuring(CudaTarget(), CudaMakefile, hosts, launch);
}

ir::FuseOptions FusedByCpu() { return CpuTarget().fuse; }
ir::FuseOptions FusedByCuda(ir::Precision precision) { return FusedBy(CudaTarget(), precision); }
int64_t LargestAttentionHeadOnCpu() { return CpuTarget().largest_attention_head; }
int64_t LargestAttentionHeadOnCuda() { return CudaTarget().largest_attention_head; }

}  // namespace cleave::codegen
