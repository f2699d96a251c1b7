// Builds generated programs with their Makefile and runs them. Compares every op with the interpreter on 1 to 4 ranks,
// and whole trainings on 1, 2, 3 and 4 ranks with each other.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/codegen.h"
#include "codegen/fixtures/all_ops.h"
#include "codegen/fixtures/fast_make.h"
#include "codegen/fixtures/fixtures.h"
#include "codegen/fixtures/generated_run.h"
#include "codegen/fixtures/workspace.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/testing/graphs.h"

namespace cleave::codegen {
namespace {

TEST(GeneratedProgram, ComputesEveryOpAsTheInterpreterDoes) {
  const ir::Graph graph = AllOpsGraph();
  // The trainings below cover these.
  std::set<ir::OpKind> kinds = {ir::OpKind::kParameter, ir::OpKind::kState, ir::OpKind::kStepScalar};
  // Only parameters are of 8 bits. tests/adapters/trained_test covers them.
  kinds.insert(ir::OpKind::kDequantize);
  // The bodies of these are in the model. tests/end_to_end/custom_ops_test covers them.
  kinds.insert({ir::OpKind::kCustom, ir::OpKind::kCustomGradient});
  // Ops of manual models are tested in manual_run_test.
  kinds.insert({ir::OpKind::kAllGather, ir::OpKind::kAllReduce, ir::OpKind::kAllToAll, ir::OpKind::kBroadcast,
                ir::OpKind::kNeighborExchange, ir::OpKind::kRankPad, ir::OpKind::kRankSlice, ir::OpKind::kRankValue,
                ir::OpKind::kReduceScatter});
  for (const ir::Op& op : graph.ops) kinds.insert(op.kind);
  for (const ir::OpDefinition* op : ir::AllOps()) EXPECT_EQ(kinds.count(op->kind), 1u) << op->kind << " is not tested";

  ExpectAsInterpreted(CpuRuns(), graph, {1, 3, 4});
  ExpectAsInterpreted(CpuRunsByGcc(), graph, {2});
}

class Trainings : public testing::TestWithParam<ir::TestOptimizer::Kind> {};

TEST_P(Trainings, AreTheSameOnAnyNumberOfRanks) {
  const ir::TestOptimizer optimizer = {
      .kind = GetParam(), .schedule = "mul(0.01, minimum(1.0, div(step, 5.0)))", .weight_decay = 0.01};
  ir::Training training = DigitsTraining(optimizer);
  training.data.numbers = {{"train", 2000}, {"test", 100}};
  TrainingRuns runs(ir::TrainingGraph(MlpForward(50, {33, 17, 10}), optimizer), training, "training");
  runs.Run(CpuRuns(), SingleRankProgram(runs.graph()), "one rank");
  // 50 samples on 3 ranks are uneven, and so are 33 features on 2.
  for (const int devices : {2, 3}) {
    const ir::Mesh mesh = ir::Mesh::OfDevices(devices);
    runs.Run(CpuRuns(), PartitionedProgram(runs.graph(), mesh, DataParallelCuts(mesh)),
             absl::StrCat("data parallel on ", devices));
  }
  Cuts cuts = {{"image", {{"d0", {0}}}},       {"label", {{"d0", {0}}}},
               {"sample_mask", {{"d0", {0}}}}, {"h1.weight", {{"d0", {1}}}},
               {"h1.bias", {{"d0", {1}}}},     {"h1.matmul", {{"i", {0}}, {"j", {1}}}},
               {"h2.weight", {{"d1", {1}}}},   {"h2.matmul", {{"i", {0}}, {"k", {1}}}}};
  runs.Run(CpuRuns(), PartitionedProgram(runs.graph(), ir::Mesh::OfDevices(4), cuts), "data and tensor parallel on 4");
  // 50 samples in 3 micro-batches on 2 ranks are pieces of 8, 8 | 9, 8 | 8, 9.
  runs.Run(CpuRuns(), PartitionedProgram(runs.graph(), ir::Mesh::OfDevices(4), cuts, {}, 3),
           "data and tensor parallel on 4, in micro-batches");
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Trainings,
                         testing::Values(ir::TestOptimizer::Kind::kMomentum, ir::TestOptimizer::Kind::kAdam));

// Rows of images lie on several ranks: windows reach into the neighbours' pieces.
TEST(GeneratedProgram, ConvolvesCutImages) {
  const ir::TestOptimizer optimizer = {.kind = ir::TestOptimizer::Kind::kMomentum, .rate = 0.01};
  ir::Training training = DigitsTraining(optimizer);
  training.data.numbers = {{"train", 500}, {"test", 20}};
  TrainingRuns runs(ir::TrainingGraph(CnnForward(20), optimizer), training, "images");
  runs.Run(CpuRuns(), SingleRankProgram(runs.graph()), "one rank");
  const auto run = [&](int devices, std::map<std::string, std::vector<int>> image, const std::string& what,
                       int64_t micro_batches = 1) {
    Cuts cuts = {{"image", image}};
    if (image.count("d0") > 0) cuts["label"] = cuts["sample_mask"] = {{"d0", image["d0"]}};
    runs.Run(CpuRuns(), PartitionedProgram(runs.graph(), ir::Mesh::OfDevices(devices), cuts, {}, micro_batches), what);
  };
  // The 7 rows after conv2 are fewer than some numbers of ranks.
  for (const int devices : {2, 3, 5}) run(devices, {{"d2", {0}}}, absl::StrCat("rows on ", devices));
  run(4, {{"d2", {0}}, {"d3", {1}}}, "rows and columns on 4");
  run(6, {{"d0", {1}}, {"d2", {0}}}, "samples and rows on 6");
  // Neighbours exchange rows of a micro-batch: 6 and 7 of 20 samples, on two ranks 3 and 4.
  run(3, {{"d2", {0}}}, "rows on 3, in micro-batches", 3);
  run(6, {{"d0", {1}}, {"d2", {0}}}, "samples and rows on 6, in micro-batches", 3);
}

TEST(GeneratedProgram, SaysWhatTheMachineLacks) {
  const ir::Graph graph = ir::TrainingGraph(MlpForward(50, {33, 10}), DigitsOptimizer());
  const std::string folder = FreshFolder("lacking");
  WriteProgram(CpuRuns(), folder, graph, SingleRankProgram(graph), DigitsTraining());
  const CommandOutput run = RunShell(folder, "PATH=/nonexistent /bin/sh ./run.sh --launch mpirun");
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.text, "run.sh: mpirun is not there: install MPI (Debian: openmpi-bin)\n");
  const CommandOutput built = RunShell(folder, "make MPICXX=no_such_compiler");
  EXPECT_NE(built.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(built.text, "the compiler `no_such_compiler` is not there: install MPI")) << built.text;
}

// Sources for data that a program does not use are left out.
TEST(GeneratedProgram, LinksWithEveryDataSource) {
  ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(MlpForward(50, {33, 10}), DigitsOptimizer());
  const std::string folder = FreshFolder("data");
  for (const std::string kind : {"mix", "mnist", "synthetic", "tokens"}) {
    SCOPED_TRACE(kind);
    training.data = {.kind = kind, .path = "no/such/folder", .numbers = {}};
    if (kind == "mix") {
      const ir::DataSource images = {
          .kind = "images", .path = "no/such/folder", .numbers = {}, .files = {{"train", "no/such/folder"}}};
      const ir::DataSource own = {.kind = "custom", .path = "own.h", .numbers = {{"train", 5}}};
      training.data = {.kind = kind, .lists = {{"weights", {0.5, 2, 1}}}, .parts = {{.kind = "digits"}, images, own}};
      RunShell(folder,
               "mkdir -p custom && echo '#include \"runtime/custom/view.h\"\n"
               "inline void image(int64_t, bool, View<float>) {}\n"
               "inline void label(int64_t, bool, View<int32_t>) {}' > custom/own.h");
    }
    RunShell(folder, "rm -rf runtime/data");
    WriteProgram(CpuRuns(), folder, graph, SingleRankProgram(graph), training);
    const CommandOutput built = RunShell(folder, FastMakeByGcc());
    EXPECT_EQ(built.exit_code, 0) << built.text;
    // When its files are missing, or the data does not fit the model, the program says so.
    const CommandOutput output = RunShell(folder, "./run.sh --steps 1");
    EXPECT_EQ(output.exit_code, kind == "synthetic" ? 0 : 3) << output.text;
  }
}

// Each rank runs the program that was written for it alone.
TEST(GeneratedProgram, OfEachRankComputesTheSameAsTheOneForAll) {
  ir::Training training = DigitsTraining();
  training.data.numbers = {{"train", 500}, {"test", 0}};
  const ir::Graph graph = ir::TrainingGraph(MlpForward(50, {33, 17, 10}), DigitsOptimizer());
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  const ir::Program program = PartitionedProgram(graph, mesh, DataParallelCuts(mesh));
  const std::string folder = FreshFolder("folded");
  const auto build = [&](std::optional<int> rank, const std::string& name) {
    WriteProgram(CpuRuns(), folder, graph, program, training, {.rank = rank});
    const CommandOutput built = RunShell(folder, absl::StrCat(FastMake(), " && cp program ", name));
    ASSERT_EQ(built.exit_code, 0) << built.text;
  };
  build(0, "program_0");
  build(1, "program_1");
  build(std::nullopt, "program_all");
  const std::string mpirun =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 mpirun --bind-to none "
      "--oversubscribe ";
  const CommandOutput all = RunShell(folder, absl::StrCat(mpirun, "-n 2 ./program_all --steps 8"));
  ASSERT_EQ(all.exit_code, 0) << all.text;
  const std::vector<double> expected = LossesOf(folder);
  const CommandOutput folded =
      RunShell(folder, absl::StrCat(mpirun, "-n 1 ./program_0 --steps 8 : -n 1 ./program_1 --steps 8"));
  ASSERT_EQ(folded.exit_code, 0) << folded.text;
  EXPECT_EQ(expected.size(), 8u);
  EXPECT_EQ(LossesOf(folder), expected);
}

}  // namespace
}  // namespace cleave::codegen
