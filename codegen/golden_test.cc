// Tests of the text of program.cc: goldens, its layout, and names that could break it. run_test shows that the programs
// are right.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/codegen.h"
#include "codegen/fixtures/fixtures.h"
#include "codegen/fixtures/workspace.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/testing/graphs.h"
#include "ir/testing/page.h"
#include "ir/testing/sources.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::codegen {
namespace {

ir::Graph MnistMlp(const ir::TestOptimizer& optimizer = DigitsOptimizer()) {
  return ir::TrainingGraph(MlpForward(256, {512, 512, 10}), optimizer);
}

// Two axes cut the batch, the third the hidden features: column, then row parallel.
ir::Program MnistMlpOnEightRanks(const ir::Graph& graph) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(8);
  return PartitionedProgram(graph, mesh,
                            {{"image", {{"d0", {0, 1}}}},
                             {"label", {{"d0", {0, 1}}}},
                             {"sample_mask", {{"d0", {0, 1}}}},
                             {"h1.weight", {{"d0", {2}}}},
                             {"h1.bias", {{"d0", {2}}}},
                             {"h1.matmul", {{"i", {0, 1}}, {"j", {2}}}},
                             {"h2.weight", {{"d1", {2}}}},
                             {"h2.matmul", {{"i", {0, 1}}, {"k", {2}}}}});
}

std::string ProgramText(const ir::Graph& graph, const ir::Program& program, const ir::Training& training,
                        const CodegenOptions& options = {}) {
  const ir::CheckpointCopy copy =
      training.checkpoint_every > 0 ? ir::CheckpointCopy::kBesideValues : ir::CheckpointCopy::kNone;
  const ir::MemoryPlan memory = ir::PlanMemory(graph, program, FusedByCpu(), copy);
  const auto files = GenerateCpu({graph, program, memory, training}, options);
  EXPECT_TRUE(files.ok()) << files.status();
  if (!files.ok()) return "";
  EXPECT_EQ(files->front().path, "program.cc");
  return files->front().text;
}

std::string CudaText(const ir::Graph& graph, const ir::Program& program, const ir::Training& training,
                     const CodegenOptions& options = {}) {
  const auto files = GenerateCuda(
      {graph, program, ir::PlanMemory(graph, program, FusedByCuda(training.precision)), training}, options);
  EXPECT_TRUE(files.ok()) << files.status();
  if (!files.ok()) return "";
  EXPECT_EQ(files->front().path, "program.cu");
  return files->front().text;
}

// The text as clang-format, with the project's settings, formats it.
std::string Formatted(const std::string& text) {
  const std::string folder = FreshFolder("format");
  WriteText(absl::StrCat(folder, "/program.cc"), text);
  const CommandOutput output = RunShell(
      folder,
      "clang-format --style='{BasedOnStyle: Google, ColumnLimit: 120, DerivePointerAlignment: false}' program.cc");
  EXPECT_EQ(output.exit_code, 0) << output.text;
  return output.text;
}

void CheckGolden(const std::string& name, const std::string& text) {
  ir::CheckPage(absl::StrCat("codegen/testdata/", name), text);
}

TEST(ProgramText, OfMnistMlpOnOneRank) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const std::string text = ProgramText(graph, SingleRankProgram(graph), training);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("mnist_mlp_1_rank.golden", text);
}

TEST(ProgramText, OfMnistMlpOnEightRanks) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const std::string text = ProgramText(graph, MnistMlpOnEightRanks(graph), training);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("mnist_mlp_8_ranks.golden", text);
}

// Images lie in blocks of channels between convolutions and poolings, but not where they are flattened.
TEST(ProgramText, OfAConvolutionalModel) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(CnnForward(20), DigitsOptimizer());
  const std::string text = ProgramText(graph, SingleRankProgram(graph), training);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("cnn_1_rank.golden", text);
}

TEST(CudaText, OfMnistMlpOnEightRanks) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const std::string text = CudaText(graph, MnistMlpOnEightRanks(graph), training);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("mnist_mlp_8_ranks_cuda.golden", text);
}

// Rows of images lie on two ranks: windows, uneven pieces, convolutions and poolings.
TEST(CudaText, OfAConvolutionalModelWithCutImages) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(CnnForward(20), DigitsOptimizer());
  const ir::Program program = PartitionedProgram(graph, ir::Mesh::OfDevices(2), {{"image", {{"d2", {0}}}}});
  const std::string text = CudaText(graph, program, training);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("cnn_2_ranks_cuda.golden", text);
}

// Gradients are reduced one by one, while the backward pass goes on.
TEST(CudaText, OfATransformerInBFloat16) {
  ir::Training training;
  training.data = {.kind = "tokens", .path = "text", .numbers = {}};
  const ir::TestOptimizer adam = {.kind = ir::TestOptimizer::Kind::kAdam, .weight_decay = 0.01};
  ir::SetOptimizer(adam, training);
  training.precision = ir::Precision::kBf16;
  const ir::Graph graph =
      ir::ApplyPrecision(ir::TrainingGraph(TransformerForward({}), adam), ir::Precision::kBf16).graph;
  const Cuts cuts = {{"tokens", {{"d0", {0}}}}, {"next", {{"d0", {0}}}}};
  const ir::Program program =
      PartitionedProgram(graph, ir::Mesh::OfDevices(2), cuts, {.buckets = ir::BucketSizes::All(Bytes(16 * 1024))});
  const std::string text = CudaText(graph, program, training);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("transformer_2_ranks_cuda.golden", text);
}

// The kernels of a program: what stands before its struct.
std::string KernelsOf(const std::string& text) {
  const size_t begin = text.find("template <");
  return text.substr(begin, text.find("struct MnistMlpModel") - begin);
}

TEST(CudaText, LoopsThatDifferOnlyInSizesAndBuffersAreOneKernel) {
  const ir::Training training = DigitsTraining();
  const auto text_of = [&](const std::vector<int64_t>& widths) {
    const ir::Graph graph = ir::TrainingGraph(MlpForward(8, widths), DigitsOptimizer());
    return CudaText(graph, SingleRankProgram(graph), training);
  };
  const std::string text = text_of({64, 32, 10});
  EXPECT_EQ(KernelsOf(text), KernelsOf(text_of({96, 48, 24, 16, 10})));
  for (const char* name : {"h1", "h2", "logits"}) EXPECT_FALSE(absl::StrContains(KernelsOf(text), name)) << text;
  // Also ten elements, which are not a multiple of four, are in the batch.
  for (const char* part :
       {"    momentum_update_loops.push_back({2048, h2_weight_grad, h2_weight_momentum, h2_weight});",
        "    momentum_update_loops.push_back({10, logits_bias_grad,",
        "    LaunchBatch(MomentumUpdate<4>, momentum_update_loops"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << text;
  }
}

// a - b and b - a are the same kernel with other arguments.
TEST(CudaText, LoopsThatReadCommonTensorsInAnotherOrderAreLaunchesOfTheirOwn) {
  ir::GraphBuilder builder;
  const ir::OpId a = ir::AddParameter(builder, "a", {4, 6});
  const ir::OpId b = ir::AddParameter(builder, "b", {4, 6});
  const auto soft_difference = [&](ir::OpId x, ir::OpId y, const std::string& name) {
    return builder.Add(ir::OpKind::kSoftmax, {builder.Add(ir::OpKind::kSub, {x, y}, {}, name)}, {}, name + ".soft");
  };
  const ir::OpId one = soft_difference(a, b, "one"), other = soft_difference(b, a, "other");
  builder.mutable_graph().loss =
      builder.Add(ir::OpKind::kReduceMean, {builder.Add(ir::OpKind::kMul, {one, other}, {}, "product")},
                  {{ir::attribute::kAxes, std::vector<int64_t>{}}}, "loss");
  const ir::Graph graph = ir::TrainingGraph(std::move(builder).Build(), DigitsOptimizer());
  const std::string text = CudaText(graph, SingleRankProgram(graph), DigitsTraining());
  for (const char* part : {"sub_loops.push_back({24, one});", "sub_loops_2.push_back({24, other});",
                           "sub_loops, a, b);", "sub_loops_2, b, a);"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << text;
  }
}

std::string TransformerOf(int64_t depth) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(TransformerForward({.depth = depth}), DigitsOptimizer());
  return ProgramText(graph, SingleRankProgram(graph), training);
}

TEST(ProgramText, OfThreeLayers) {
  const std::string text = TransformerOf(3);
  EXPECT_EQ(text, Formatted(text));
  CheckGolden("transformer_3_layers.golden", text);
}

TEST(ProgramText, IsAsLongForEveryNumberOfLayers) {
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto few = lines(TransformerOf(12));
  EXPECT_EQ(lines(TransformerOf(40)), few);
  EXPECT_EQ(lines(TransformerOf(90)), few);
}

// The value of one element is a function with the op's name.
TEST(CudaText, KernelsAreNotNamedLikeWhatTheProgramUses) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TestTiedWeights();
  const std::string text = CudaText(graph, SingleRankProgram(graph), training);
  EXPECT_TRUE(absl::StrContains(text, "inline float Gelu(float x)")) << text;
  EXPECT_TRUE(absl::StrContains(text, "__global__ void GeluKernel(")) << text;
  EXPECT_FALSE(absl::StrContains(text, "__global__ void Gelu(")) << text;
}

TEST(ProgramText, OfRankFiveHasItsNumbersFoldedIn) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const std::string text = ProgramText(graph, MnistMlpOnEightRanks(graph), training, {.rank = 5});
  EXPECT_EQ(text, Formatted(text));
  // Rank 5 is (1, 0, 1): rows 128 to 191 of 256, features 256 to 511 of 512.
  EXPECT_TRUE(absl::StrContains(text, "Region{{256, 1, 28, 28}, {128, 0, 0, 0}, {64, 1, 28, 28}}")) << text;
  EXPECT_TRUE(absl::StrContains(text, "Region{{512, 784}, {256, 0}, {256, 784}}")) << text;
  EXPECT_TRUE(absl::StrContains(text, "MatMul({.m = 64, .n = 256, .k = 784, .transpose_b = true}")) << text;
  EXPECT_TRUE(absl::StrContains(text, "const Group group_m2 = comm.CreateGroup({2});")) << text;
  EXPECT_TRUE(absl::StrContains(text, "// Ranks 4, 5.")) << text;
  EXPECT_TRUE(absl::StrContains(text, "settings.only_rank = 5;")) << text;
  EXPECT_FALSE(absl::StrContains(text, "coordinates")) << text;
}

TEST(CudaText, OfARankHasItsNumbersFoldedIn) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const std::string text = CudaText(graph, MnistMlpOnEightRanks(graph), training, {.rank = 5});
  EXPECT_EQ(text, Formatted(text));
  EXPECT_TRUE(absl::StrContains(
      text, "Launch(BiasAddReluOverX<4, 512>, ForElements(32768 / 4), 32768, h2_matmul, h2_bias, h2_relu);"))
      << text;
  EXPECT_FALSE(absl::StrContains(text, "coordinates")) << text;
}

// Sizes of uneven pieces are arguments of kernels.
TEST(CudaText, SizesThatDifferBetweenRanksAreHandedOver) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const ir::Mesh mesh = ir::Mesh::OfDevices(3);
  const std::string text = CudaText(graph, PartitionedProgram(graph, mesh, DataParallelCuts(mesh)), training);
  EXPECT_TRUE(absl::StrContains(text, "__global__ void ReluGradientOverDy(int64_t count, const float* dy,")) << text;
  EXPECT_TRUE(absl::StrContains(text, "ForElements(piece_256_m0.size * 512 / 4), piece_256_m0.size * 512,")) << text;
}

TEST(ProgramText, IsTheSameForTheSameInput) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  EXPECT_EQ(ProgramText(graph, MnistMlpOnEightRanks(graph), training),
            ProgramText(graph, MnistMlpOnEightRanks(graph), training));
}

TEST(ProgramText, IsLaidOutForEveryRankCountAndOptimizer) {
  for (const ir::TestOptimizer::Kind kind : {ir::TestOptimizer::Kind::kSgd, ir::TestOptimizer::Kind::kAdam}) {
    const ir::TestOptimizer optimizer = {.kind = kind, .weight_decay = 0.01};
    const ir::Training training = DigitsTraining(optimizer);
    const ir::Graph graph = MnistMlp(optimizer);
    for (const int devices : {3, 6, 7, 64}) {
      SCOPED_TRACE(devices);
      const ir::Mesh mesh = ir::Mesh::OfDevices(devices);
      const ir::Program program = PartitionedProgram(graph, mesh, DataParallelCuts(mesh));
      for (const std::string& text : {ProgramText(graph, program, training), CudaText(graph, program, training)}) {
        EXPECT_EQ(text, Formatted(text));
      }
    }
  }
}

TEST(ProgramText, SaysWhereParametersBegin) {
  ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(MlpForward(8, {5, 3}), DigitsOptimizer());
  const auto text = [&] { return ProgramText(graph, SingleRankProgram(graph), training); };
  EXPECT_FALSE(absl::StrContains(text(), "settings.params"));
  training.params = "/models/gpt2.safetensors";
  EXPECT_TRUE(absl::StrContains(text(), "\n  settings.params = \"/models/gpt2.safetensors\";\n"));
}

TEST(ProgramText, SaysWhatTheModelSaysAboutCheckpoints) {
  ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(MlpForward(8, {5, 3}), DigitsOptimizer());
  const auto text = [&] { return ProgramText(graph, SingleRankProgram(graph), training); };
  EXPECT_FALSE(absl::StrContains(text(), "checkpoint"));
  training.keep_checkpoints = 5;
  EXPECT_FALSE(absl::StrContains(text(), "checkpoint_every"));
  EXPECT_TRUE(absl::StrContains(text(), "\n  settings.keep_checkpoints = 5;\n"));
  const ir::MemoryPrediction without = ir::PlanMemory(graph, SingleRankProgram(graph), FusedByCpu()).use.prediction;
  EXPECT_TRUE(absl::StrContains(text(), absl::StrCat("peak_bytes = ", without.peak.value(), ";")));
  training.checkpoint_every = 500;
  // A copy of all parameters and momenta.
  EXPECT_TRUE(absl::StrContains(
      text(), absl::StrCat("peak_bytes = ", (without.peak + without.parameters + without.optimizer).value(), ";")));
  EXPECT_TRUE(absl::StrContains(text(), "\n  settings.checkpoint_every = 500;\n  settings.keep_checkpoints = 5;\n"));
}

TEST(ProgramText, SaysWhatTheModelSaysAboutEvaluations) {
  ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(MlpForward(8, {5, 3}), DigitsOptimizer());
  const auto text = [&] { return ProgramText(graph, SingleRankProgram(graph), training); };
  for (const char* const field : {"validation", "evaluate_every", "best", "patience"}) {
    EXPECT_FALSE(absl::StrContains(text(), field)) << field;
  }
  training.validation = 0.1;
  training.evaluate_every = 200;
  training.best = {.measure = "accuracy"};
  training.patience = 5;
  EXPECT_TRUE(absl::StrContains(text(), "\n  settings.data.validation = 0.1;\n"));
  EXPECT_TRUE(absl::StrContains(text(),
                                "\n  settings.evaluate_every = 200;\n  settings.best = {.measure = \"accuracy\"};\n"
                                "  settings.patience = 5;\n"));
  training.best = {.measure = "loss", .is_least = true};
  EXPECT_TRUE(absl::StrContains(text(), "\n  settings.best = {.measure = \"loss\", .is_least = true};\n"));
  training.mode = ir::Mode::kEvaluate;
  EXPECT_TRUE(absl::StrContains(text(), "validation = 0.1;"));
  EXPECT_FALSE(absl::StrContains(text(), "settings.best"));
  training.mode = ir::Mode::kPredict;
  EXPECT_FALSE(absl::StrContains(text(), "validation"));
}

// Lines of a program that communicate, as they are begun and awaited.
std::vector<std::string> CommunicationOf(const std::string& text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::StrContains(line, "comm.")) lines.emplace_back(line);
  }
  return lines;
}

TEST(ProgramText, GradientsAreReducedBesideTheBackwardPassOnEveryTarget) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  const ir::Program program =
      PartitionedProgram(graph, mesh, DataParallelCuts(mesh), {.buckets = ir::BucketSizes::All(Bytes(16 * 1024))});
  const std::string text = ProgramText(graph, program, training);
  EXPECT_EQ(CommunicationOf(text), CommunicationOf(CudaText(graph, program, training)));
  const size_t begun = text.find("Pending h2_weight_grad_all_reduce_pending = comm.Overlap([&] {");
  const size_t computed = text.find("watch.Start(\"h1.weight.grad\"");
  const size_t awaited = text.find("comm.Finish(h2_weight_grad_all_reduce_pending);");
  EXPECT_LT(begun, computed) << text;
  EXPECT_LT(computed, awaited) << text;
  EXPECT_NE(awaited, std::string::npos) << text;
}

// Weights that are stored in rows and in columns are gathered in one call, and their gradients are scattered in one
// call.
TEST(ProgramText, SeveralTensorsInOneCall) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = MnistMlp();
  const ir::Mesh mesh = ir::Mesh::OfDevices(3);
  Cuts cuts = DataParallelCuts(mesh);
  cuts["h1.weight"] = {{"d0", {0}}};
  cuts["h2.weight"] = {{"d1", {0}}};
  const std::string text = ProgramText(graph, PartitionedProgram(graph, mesh, cuts), training);
  EXPECT_EQ(text, Formatted(text));
  EXPECT_TRUE(absl::StrContains(text,
                                "    const std::vector<Gathered<float>> parameters_all_gather = {\n"
                                "        {h1_weight, h1_weight_all_gather, {512, 784}, {0, PieceSizes(512, 3)}},\n"
                                "        {h2_weight, h2_weight_all_gather, {512, 512}, {1, PieceSizes(512, 3)}},\n"
                                "    };\n"
                                "    comm.AllGather(parameters_all_gather, group_m0);\n"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "comm.ReduceScatter(gradients_reduce_scatter, Reduction::kSum, group_m0);"))
      << text;
  // 512 rows in pieces of 171, 171 and 170.
  EXPECT_TRUE(absl::StrContains(text, "each of 3 ranks sends at most 1769472 bytes")) << text;
}

// 6 rows on 4 ranks are uneven; gradients that only one axis makes partial are sent as one piece.
TEST(ProgramText, CollectivesSayHowManyBytesARankSends) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(MlpForward(6, {8, 6, 3}), DigitsOptimizer());
  const Cuts cuts = {{"image", {{"d0", {0}}}},     {"label", {{"d0", {0, 1}}}},
                     {"h1.weight", {{"d0", {0}}}}, {"h1.matmul", {{"i", {0}}, {"j", {1}}}},
                     {"h2.weight", {{"d1", {0}}}}, {"h2.matmul", {{"k", {0}}, {"i", {1}}}}};
  const std::string text = ProgramText(graph, PartitionedProgram(graph, ir::Mesh::OfDevices(4), cuts), training);
  EXPECT_EQ(text, Formatted(text));
  for (const char* part :
       {"loss.all_reduce, mnist_mlp.model:10: partial sums of loss; each of 4 ranks sends 6 bytes\n",
        "it lies as [m0 m1]; each of 4 ranks sends at most\n    // 8 bytes\n",     // permute
        "lies as [m1 m0, -]; each of 2 ranks sends at most 18 bytes\n",            // all_gather
        "gradient of h1.weight; each of 2 ranks sends 6272 bytes\n",               // reduce_scatter
        "    comm.AllReduce(gradients_bucket, 88, Reduction::kSum, group_m1);\n",  // 352 bytes
        "// 352 bytes for gradients.all_reduce\n  float* const logits_bias_grad = gradients_bucket;"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << text;
  }
}

// A model whose names could break the text.
ir::Graph OddlyNamed() {
  ir::Graph graph = ir::TrainingGraph(MlpForward(8, {5, 3}), DigitsOptimizer());
  graph.model = "double";
  graph.file =
      "folder/\"odd\\ name?"
      "?/.model";
  const char* const names[] = {"class", "comm", "i", "Watch", "h1\n.b", "a\"b\\", "\xC3\xA4", "MatMul", "k256By4"};
  size_t next = 0;
  for (ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kInput) continue;
    op.name = absl::StrCat(names[next % 9], next < 9 ? "" : absl::StrCat(".", next));
    ++next;
  }
  return graph;
}

void ExpectCompiles(const std::vector<GeneratedFile>& files, const std::string& command) {
  const std::string folder = FreshFolder("names");
  for (const GeneratedFile& file : files) WriteText(absl::StrCat(folder, "/", file.path), file.text);
  const CommandOutput compiled = RunShell(folder, absl::StrCat("g++ -std=c++17 -fopenmp -fsyntax-only -I. ", command));
  EXPECT_EQ(compiled.exit_code, 0) << compiled.text << files.front().text;
}

TEST(ProgramText, NamesCannotBreakIt) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = OddlyNamed();
  const ir::Program program = SingleRankProgram(graph);
  const auto files = GenerateCpu({graph, program, ir::PlanMemory(graph, program, FusedByCpu()), training});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->front().text, Formatted(files->front().text));
  ExpectCompiles(*files, "program.cc");
}

TEST(CudaText, NamesCannotBreakIt) {
  const ir::Training training = DigitsTraining();
  const ir::Graph graph = OddlyNamed();
  const ir::Program program = SingleRankProgram(graph);
  const auto files =
      GenerateCuda({graph, program, ir::PlanMemory(graph, program, FusedByCuda(training.precision)), training});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->front().text, Formatted(files->front().text));
  const std::string stand_in = (std::filesystem::current_path() / "tests/stand_in/include").string();
  ExpectCompiles(*files, absl::StrCat("-x c++ '-I", stand_in, "' program.cu"));
}

TEST(GenerateCpu, RefusesWhatItCannotSay) {
  ir::Training training = DigitsTraining();
  const ir::Graph graph = ir::TrainingGraph(MlpForward(8, {5, 3}), DigitsOptimizer());
  const ir::Program program = SingleRankProgram(graph);
  const ir::MemoryPlan memory = ir::PlanMemory(graph, program, FusedByCpu());
  EXPECT_EQ(GenerateCpu({graph, program, memory, training}, {.rank = 1}).status().message(),
            "rank 1 of a mesh of 1 ranks");
  training.data.kind = "tape";
  EXPECT_EQ(GenerateCpu({graph, program, memory, training}).status().message(),
            "no data source `tape` for generated programs");
}

}  // namespace
}  // namespace cleave::codegen
