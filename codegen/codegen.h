// From a Program to source files: a program for all ranks, the runtime that it uses, and what builds and starts it.
//
//   const MemoryPlan memory = PlanMemory(graph, program, FusedByCpu());
//   absl::StatusOr<std::vector<GeneratedFile>> files = GenerateCpu({graph, program, memory, training});
//   // program.cc, Makefile, run.sh, runtime/…
//
// The text is a function of the arguments alone: the same program gives the same bytes.
#ifndef CLEAVE_CODEGEN_CODEGEN_H_
#define CLEAVE_CODEGEN_CODEGEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/program/program_text.h"
#include "codegen/source/run_script.h"
#include "ir/program/fuse/fuse.h"

namespace cleave::codegen {

struct GeneratedFile {
  std::string path;  // Within the output folder, with slashes.
  std::string text;
  bool executable = false;

  bool operator==(const GeneratedFile&) const = default;
};

// The folder of a program for so many ranks beside a larger one: "ranks_4".
std::string FolderOfRanks(int ranks);

struct CodegenOptions {
  // Only the program of this rank, with its coordinates as constants.
  std::optional<int> rank;
  LaunchDefault launch;
  bool repeats_layers = false;  // Equal layers one by one (TextOptions).
  // The same model for fewer ranks, the most first: programs in folders of their own, which share the runtime and are
  // built with this one. run.sh starts them where there is no room for this one.
  std::vector<CodegenInput> also = {};
};

// C++17 with OpenMP, oneDNN, and MPI or Gloo. `training.data.path` is written as it is: it should be absolute, or
// relative to the folder in which the program will run. An InvalidArgument error is for what no program can do (a data
// source that does not exist, a rank outside of the mesh); an Unimplemented error names an op that cannot be emitted.
absl::StatusOr<std::vector<GeneratedFile>> GenerateCpu(const CodegenInput& input, const CodegenOptions& options = {});

// What a target computes as one piece: its programs need no memory for the values inside.
ir::FuseOptions FusedByCpu();
ir::FuseOptions FusedByCuda(ir::Precision precision = ir::Precision::kF32);
// The most elements of a head for which a target computes attention as one op (ir/transforms/join_attention).
int64_t LargestAttentionHeadOnCpu();
int64_t LargestAttentionHeadOnCuda();

// For GPUs of NVIDIA: C++17 and CUDA with cuBLASLt, cuDNN where it is installed, and NCCL. Errors as above.
absl::StatusOr<std::vector<GeneratedFile>> GenerateCuda(const CodegenInput& input, const CodegenOptions& options = {});

// Hosts with equally many ranks, which a program is to measure.
struct HostsToMeasure {
  int64_t hosts = 1;
  int64_t ranks_on_host = 1;
};

// The memory that each rank of it takes on a CPU to measure with: more than any cache has.
inline constexpr int64_t kBytesMeasuredWithOnCpu = int64_t{256} << 20;

// The program that measures machines for a cluster file (runtime/measure/measure.h), with what builds and starts it. On
// several hosts the ranks of each follow each other, and the mesh has the axes of search::MeshOfCluster.
std::vector<GeneratedFile> MeasuringForCpu(const HostsToMeasure& hosts, const LaunchDefault& launch = {});
std::vector<GeneratedFile> MeasuringForCuda(const HostsToMeasure& hosts, const LaunchDefault& launch = {});

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CODEGEN_H_
