// Programs in which equal layers are written once train to the same losses as those that repeat them.

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/fixtures/fixtures.h"
#include "codegen/fixtures/generated_run.h"
#include "gtest/gtest.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/graphs.h"
#include "ir/testing/seed.h"

namespace cleave::codegen {
namespace {

ir::Training TokenTraining() {
  ir::Training training = DigitsTraining();
  training.data = {.kind = "synthetic", .path = "", .numbers = {{"train", 8}, {"test", 8}}};
  training.optimizer.kind = ir::Optimizer::Kind::kAdamW;
  training.optimizer.learning_rate.rate = 0.01;
  training.optimizer.weight_decay = 0.01;
  training.epochs = 100;
  return training;
}

// The batch is cut, but some layers have an op that is cut along another dimension, so that layers differ.
Cuts RandomCuts(std::mt19937& random, int64_t depth) {
  Cuts cuts = {{"tokens", {{"d0", {0}}}}, {"next", {{"d0", {0}}}}};
  for (int64_t layer = 0; layer < depth; ++layer) {
    if (random() % 3 == 0) cuts[absl::StrCat("x.", layer, ".hidden.gelu")] = {{"d2", {0}}};
  }
  return cuts;
}

void ExpectTheSame(const RunTarget& target, const std::string& folder) {
  const uint64_t seed = ir::TestSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(static_cast<uint32_t>(seed));
  const ir::Training training = TokenTraining();
  for (const int ranks : {1, 2}) {
    const TransformerSizes sizes = {.width = 16, .depth = 2 + static_cast<int64_t>(random() % 4)};
    const ir::Graph graph = ir::TrainingGraph(TransformerForward(sizes), training.optimizer);
    const ir::Mesh mesh = ir::Mesh::OfDevices(ranks);
    const ir::Program program =
        ranks == 1 ? SingleRankProgram(graph) : PartitionedProgram(graph, mesh, RandomCuts(random, sizes.depth));
    TrainingRuns runs(graph, training, absl::StrCat(folder, ranks), /*tolerance=*/0);
    const std::string what = absl::StrCat(sizes.depth, " layers on ", ranks, " ranks");
    runs.Run(target, program, absl::StrCat(what, ", repeated"), {.repeats_layers = true});
    runs.Run(target, program, what);
  }
}

TEST(LayersRunTest, OnTheCpu) { ExpectTheSame(CpuRuns(), "layers_cpu"); }
TEST(LayersRunTest, OnAGpu) { ExpectTheSame(CudaRuns(), "layers_cuda"); }

}  // namespace
}  // namespace cleave::codegen
