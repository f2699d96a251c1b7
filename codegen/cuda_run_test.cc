// Generated programs for GPUs are built by a C++ compiler with the stand-in for CUDA and run on the CPU. Every op is
// compared with the interpreter, and trainings on several ranks, which are threads, with the program for the CPU.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/fixtures/all_ops.h"
#include "codegen/fixtures/fixtures.h"
#include "codegen/fixtures/generated_run.h"
#include "codegen/fixtures/workspace.h"
#include "gtest/gtest.h"
#include "ir/testing/graphs.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::codegen {
namespace {

TEST(GeneratedCudaProgram, ComputesEveryOpAsTheInterpreterDoes) {
  ExpectAsInterpreted(CudaRuns(), AllOpsGraph(), {1, 4});
}

TEST(GeneratedCudaProgram, TrainsAsTheOneForTheCpu) {
  const ir::TestOptimizer optimizer = {.kind = ir::TestOptimizer::Kind::kAdam,
                                       .schedule = "mul(0.01, minimum(1.0, div(step, 5.0)))",
                                       .weight_decay = 0.01};
  ir::Training training = DigitsTraining(optimizer);
  training.data.numbers = {{"train", 200}, {"test", 20}};
  TrainingRuns runs(ir::TrainingGraph(MlpForward(20, {33, 16, 10}), optimizer), training, "training");
  runs.Run(CpuRuns(), SingleRankProgram(runs.graph()), "the CPU");
  runs.Run(CudaRuns(), SingleRankProgram(runs.graph()), "one rank");
  // 33 features on 2 ranks are uneven. Each gradient is reduced by itself while the next ones are computed.
  const Cuts cuts = {{"image", {{"d0", {0}}}},       {"label", {{"d0", {0}}}},
                     {"sample_mask", {{"d0", {0}}}}, {"h1.weight", {{"d0", {1}}}},
                     {"h1.bias", {{"d0", {1}}}},     {"h1.matmul", {{"i", {0}}, {"j", {1}}}},
                     {"h2.weight", {{"d1", {1}}}},   {"h2.matmul", {{"i", {0}}, {"k", {1}}}}};
  const ir::Program program =
      PartitionedProgram(runs.graph(), ir::Mesh::OfDevices(4), cuts, {.buckets = ir::BucketSizes::All(Bytes(1))});
  runs.Run(CudaRuns(), program, "data and tensor parallel on 4");
  runs.Run(
      CudaRuns(),
      PartitionedProgram(runs.graph(), ir::Mesh::OfDevices(4), cuts, {.buckets = ir::BucketSizes::All(Bytes(1))}, 3),
      "data and tensor parallel on 4, in micro-batches");
}

// Sums of products of 16 bits are rounded where they are stored, and their order differs between libraries.
void TrainsIn(ir::Precision precision, double tolerance, const ir::Graph& forward = MlpForward(20, {33, 16, 10})) {
  ir::Training training = DigitsTraining();
  training.data.numbers = {{"train", 200}, {"test", 20}};
  training.precision = precision;
  const ir::Graph graph = ir::TrainingGraph(forward, DigitsOptimizer());
  const std::string name(ir::PrecisionName(precision));
  TrainingRuns runs(ir::ApplyPrecision(graph, precision).graph, training, name, tolerance);
  runs.Run(CpuRuns(), SingleRankProgram(runs.graph()), "the CPU");
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  runs.Run(CudaRuns(), PartitionedProgram(runs.graph(), mesh, DataParallelCuts(mesh)), "data parallel on 2");
}
TEST(GeneratedCudaProgram, TrainsInBFloat16) { TrainsIn(ir::Precision::kBf16, 0.01); }
TEST(GeneratedCudaProgram, TrainsInFloat16) { TrainsIn(ir::Precision::kF16, 0.002); }
// The product between the first layer and the last one.
TEST(GeneratedCudaProgram, TrainsInFloat8) { TrainsIn(ir::Precision::kFp8, 0.02, MlpForward(32, {64, 32, 10})); }

}  // namespace
}  // namespace cleave::codegen
