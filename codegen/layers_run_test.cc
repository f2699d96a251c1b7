// Programs in which equal layers are written once: they have as many lines at any depth, and train to the same losses
// as those that repeat them.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/fixtures/fixtures.h"
#include "codegen/fixtures/generated_run.h"
#include "gtest/gtest.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/graphs.h"
#include "ir/testing/seed.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::codegen {
namespace {

ir::TestOptimizer TokenOptimizer() {
  return {.kind = ir::TestOptimizer::Kind::kAdam, .rate = 0.01, .weight_decay = 0.01};
}

ir::Training TokenTraining() {
  ir::Training training = DigitsTraining(TokenOptimizer());
  training.data = {.kind = "synthetic", .path = "", .numbers = {{"train", 8}, {"test", 8}}};
  training.epochs = 100;
  return training;
}

// A model of which layers are equal, and how it is written.
struct Layers {
  std::string name;
  TransformerSizes sizes;
  bool on_gpu = false;
  int ranks = 1;
  Bytes bucket = Bytes(25 << 20);
  bool is_bf16 = false;
  bool shares_parameters = false;  // Each rank keeps a part of each weight, which is gathered where it is read.
  bool is_watched = false;         // A value of each layer.
};

// The layers of a small transformer, whose gradients are some 15 KB each.
std::vector<Layers> AllLayers() {
  const TransformerSizes plain = {.width = 16, .depth = 4};
  const TransformerSizes turns = {.width = 16, .depth = 4, .turn = 2};
  const TransformerSizes turns_twice = {.width = 16, .depth = 4, .turn = 2, .loops = 2};
  return {
      {.name = "watched", .sizes = plain, .is_watched = true},
      {.name = "in_turns_twice", .sizes = turns_twice},
      {.name = "buckets", .sizes = plain, .on_gpu = true, .ranks = 2, .bucket = Bytes(12 << 10), .is_bf16 = true},
      {.name = "gathers", .sizes = plain, .ranks = 2, .shares_parameters = true},
      {.name = "gathers_in_buckets",
       .sizes = turns,
       .on_gpu = true,
       .ranks = 2,
       .bucket = Bytes(12 << 10),
       .shares_parameters = true},
  };
}

// The batch is cut, and with `shares_parameters` the first dimension of each weight.
Cuts CutsOf(const Layers& layers, const ir::Graph& graph) {
  Cuts cuts = {{"tokens", {{"d0", {0}}}}, {"next", {{"d0", {0}}}}};
  for (const ir::Op& op : graph.ops) {
    if (layers.shares_parameters && op.kind == ir::OpKind::kParameter) cuts[op.name] = {{"d0", {0}}};
  }
  return cuts;
}

struct Compiled {
  ir::Graph graph;
  ir::Program program;
};

std::string OtherLetters(std::string name) {
  for (char& c : name) {
    if (absl::ascii_islower(static_cast<unsigned char>(c))) c = static_cast<char>('a' + (c - 'a' + 7) % 26);
  }
  return name;
}

// The same graph with other names: words of the same length, in another order. What the data brings keeps its name.
ir::Graph WithOtherLetters(ir::Graph graph) {
  for (ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kInput) op.name = OtherLetters(op.name);
  }
  for (ir::Look& look : graph.looks) look.name = OtherLetters(look.name);
  return graph;
}

Compiled Compile(const Layers& layers, bool has_other_letters = false) {
  ir::Graph graph = ir::TrainingGraph(TransformerForward(layers.sizes), TokenOptimizer());
  if (layers.is_bf16) graph = ir::ApplyPrecision(graph, ir::Precision::kBf16).graph;
  if (layers.is_watched) {
    for (const ir::Op& op : graph.ops) {
      if (op.name.find("hidden.gelu") == std::string::npos || op.phase != ir::Phase::kForward) continue;
      graph.looks.push_back({.kind = ir::LookKind::kWatch, .value = op.id, .name = op.name, .line = op.line});
    }
  }
  if (has_other_letters) graph = WithOtherLetters(std::move(graph));
  if (layers.ranks == 1 && !layers.is_watched) return {graph, SingleRankProgram(graph)};
  const Cuts cuts = layers.ranks == 1 ? Cuts() : CutsOf(layers, graph);
  return {graph, PartitionedProgram(graph, ir::Mesh::OfDevices(layers.ranks), cuts,
                                    {.buckets = ir::BucketSizes::All(layers.bucket)})};
}

std::string TextOf(const RunTarget& target, const Compiled& compiled, const CodegenOptions& options = {}) {
  const auto& [graph, program] = compiled;
  const auto files =
      target.generate({graph, program, ir::PlanMemory(graph, program, target.fuse({})), TokenTraining()}, options);
  EXPECT_TRUE(files.ok()) << files.status();
  if (!files.ok()) return "";
  const auto source = std::find_if(files->begin(), files->end(),
                                   [&](const GeneratedFile& file) { return file.path == target.source_file; });
  return source->text;
}

// Lines are broken where numbers have many digits, so statements are counted.
int64_t StatementsOf(const RunTarget& target, const Compiled& compiled, const CodegenOptions& options = {}) {
  const std::string text = TextOf(target, compiled, options);
  return std::count(text.begin(), text.end(), ';');
}

std::string WithoutLetters(std::string text) {
  for (char& c : text) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(c))) c = 'a';
  }
  return text;
}

class LayersRunTest : public testing::TestWithParam<Layers> {};

TEST_P(LayersRunTest, AnyDepthHasAsManyStatements) {
  Layers flat = GetParam(), deep = GetParam();
  flat.sizes.depth = 8;
  deep.sizes.depth = 12;
  for (const RunTarget& target : {CpuRuns(), CudaRuns()}) {
    const Compiled compiled = Compile(flat);
    EXPECT_EQ(StatementsOf(target, compiled), StatementsOf(target, Compile(deep))) << target.source_file;
    EXPECT_LT(StatementsOf(target, compiled), StatementsOf(target, compiled, {.repeats_layers = true}));
  }
}

TEST_P(LayersRunTest, NamesAreForPeople) {
  for (const RunTarget& target : {CpuRuns(), CudaRuns()}) {
    EXPECT_EQ(WithoutLetters(TextOf(target, Compile(GetParam(), /*has_other_letters=*/true))),
              WithoutLetters(TextOf(target, Compile(GetParam()))));
  }
}

void ExpectTheSame(const RunTarget& target, const Compiled& compiled, const std::string& folder) {
  TrainingRuns runs(compiled.graph, TokenTraining(), folder, /*tolerance=*/0);
  runs.Run(target, compiled.program, "repeated", {.repeats_layers = true});
  runs.Run(target, compiled.program, "written once");
}

TEST_P(LayersRunTest, TrainsTheSame) {
  ExpectTheSame(GetParam().on_gpu ? CudaRuns() : CpuRuns(), Compile(GetParam()),
                absl::StrCat("layers_", GetParam().name));
}

INSTANTIATE_TEST_SUITE_P(All, LayersRunTest, testing::ValuesIn(AllLayers()),
                         [](const auto& info) { return info.param.name; });

// A loop over time: steps read other slices of a sequence, add to the gradients of the weights that they share, and
// what they make lies one after another.
Compiled Recurrent(int64_t steps, int ranks) {
  const ir::Graph graph = ir::TestRecurrent(steps);
  if (ranks == 1) return {graph, SingleRankProgram(graph)};
  return {graph, PartitionedProgram(graph, ir::Mesh::OfDevices(ranks),
                                    {{"tokens", {{"d0", {0}}}}, {"next", {{"d0", {0}}}}}, {})};
}

TEST(StepsOfALoopOverTimeTest, AnyNumberHasAsManyLines) {
  for (const RunTarget& target : {CpuRuns(), CudaRuns()}) {
    for (const int ranks : {1, 2}) {
      EXPECT_EQ(StatementsOf(target, Recurrent(16, ranks)), StatementsOf(target, Recurrent(40, ranks)))
          << target.source_file;
    }
  }
}

TEST(StepsOfALoopOverTimeTest, TrainTheSame) { ExpectTheSame(CpuRuns(), Recurrent(12, 2), "layers_recurrent"); }

// Some layers have an op that is cut along another dimension than the batch, so that they differ.
TEST(LayersOfSeveralPlansTest, TrainTheSame) {
  const uint64_t seed = ir::TestSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(static_cast<uint32_t>(seed));
  Layers layers = {
      .name = "mixed", .sizes = {.width = 16, .depth = 2 + static_cast<int64_t>(random() % 4)}, .ranks = 2};
  const ir::Graph graph = Compile(layers).graph;
  Cuts cuts = CutsOf(layers, graph);
  for (int64_t layer = 0; layer < layers.sizes.depth; ++layer) {
    if (random() % 3 == 0) cuts[absl::StrCat("x.", layer, ".hidden.gelu")] = {{"d2", {0}}};
  }
  const ir::Program program = PartitionedProgram(graph, ir::Mesh::OfDevices(2), cuts);
  ExpectTheSame(random() % 2 == 0 ? CpuRuns() : CudaRuns(), {graph, program}, "layers_mixed");
}

}  // namespace
}  // namespace cleave::codegen
