// Generated programs of manual models are built with their Makefile and run on 1 to 6 ranks: after a step of training
// every rank must have the parameters that the interpreter has.
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "codegen/fixtures/generated_run.h"
#include "codegen/fixtures/workspace.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/random_manual_model.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::codegen {
namespace {

constexpr double kLearningRate = 0.5;

struct Model {
  ir::Graph graph;
  ir::Program program;
};

ir::MeshAxis AxisOf(const std::string& name, int64_t size) {
  return {.name = name, .size = size, .link = "memory", .weight = 1};
}

Model RandomModel(const std::vector<ir::RankAxis>& axes, const std::vector<ir::MeshAxis>& mesh, uint64_t seed) {
  ir::Random random(seed);
  ir::Graph forward = ir::RandomManualModel({.axes = axes, .steps = 40}, random);
  forward.model = "Manual";
  forward.file = "manual.model";
  ir::Graph graph =
      *ir::Differentiate(std::move(forward), {.kind = ir::TestOptimizer::Kind::kMomentum, .rate = kLearningRate});
  ir::Plan plan{.mesh = *ir::Mesh::Create(mesh), .ops = {}, .search = {}};
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back({.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op)),
                        .output = std::nullopt,
                        .reason = "",
                        .choices = {}});
  }
  ir::Program program = *ir::Partition(graph, plan);
  return {std::move(graph), std::move(program)};
}

// Reads parameters and inputs from the file "sources_<rank>", float64 one after another, trains one step, and writes
// the loss and the new parameters to "results_<rank>".
constexpr char kDriver[] = R"cc(
#define main train_main
#include "PROGRAM"
#undef main
#include "runtime/comm/run_ranks.h"

#include <fstream>

#include "runtime/device/memory.h"

  int RunRank(const Mesh& mesh) {
    Watch watch("manual.model");
    Result<std::unique_ptr<Comm>> comm = Comm::Start(mesh, watch);
    if (!comm.ok()) return 1;
    const int rank = comm.value()->rank();
    const std::vector<int64_t> coordinates = Coordinates(mesh, rank);
    const uint64_t step = 1;
    Observer observer(*comm.value());
    ManualModel model({rank, mesh, coordinates, 1, *comm.value(), watch, step, observer});
    model.Initialize();
    std::ifstream sources("sources_" + std::to_string(rank), std::ios::binary);
    const auto read = [&](const std::vector<int64_t>& shape, float* values) {
      std::vector<float> numbers;
      for (int64_t i = 0; i < ElementCount(shape); ++i) {
        double value = 0;
        sources.read(reinterpret_cast<char*>(&value), sizeof(value));
        numbers.push_back(static_cast<float>(value));
      }
      CopyToDevice(numbers.data(), values, static_cast<int64_t>(numbers.size() * sizeof(float)));
    };
    for (const ParameterView& parameter : model.Parameters()) read(parameter.layout.shape, parameter.values.As<float>());
    for (const ModelInput& input : model.Inputs()) read(input.region.size, input.floats);
    StepScalars scalars;
    scalars.learning_rate = LEARNING_RATE;
    model.Prepare(scalars);
    model.RunBatch(/*metrics=*/false, /*gradients=*/true);
    const float loss = model.Loss();
    model.Update(scalars);
    std::ofstream results("results_" + std::to_string(rank));
    results.precision(9);
    results << loss;
    for (const ParameterView& parameter : model.Parameters()) {
      const int64_t count = ElementCount(parameter.layout.shape);
      const float* const values = OnHost(static_cast<const float*>(parameter.values.place()), count);
      for (int64_t i = 0; i < count; ++i) results << ' ' << values[i];
    }
    return 0;
  }

  int main() {
    const Mesh mesh = MESH;
    return RunRanks(mesh, [&] { return RunRank(mesh); });
  }
)cc";

class ManualRun {
 public:
  ManualRun(RunTarget target, std::string folder) : target_(std::move(target)), folder_(std::move(folder)) {}

  // Builds the program, trains one step with it on all ranks, and compares.
  void Run(const Model& model) {
    const int ranks = model.program.mesh.rank_count();
    ir::Random random(1);
    ir::RankSources sources = ir::RandomRankSources(model.graph, random);
    for (const ir::Op& op : model.graph.ops) {
      // The optimizer starts from zeros.
      if (op.kind == ir::OpKind::kState) sources[op.id].assign(static_cast<size_t>(ranks), ir::Zeros(op.type.shape));
    }
    const IdVector<ir::OpId, ir::TensorOnRanks> expected = ir::InterpretRanks(model.graph, sources, 1);
    WriteProgram(target_, folder_, model.graph, model.program, ir::Training{});
    for (int rank = 0; rank < ranks; ++rank) {
      WriteText(absl::StrCat(folder_, "/sources_", rank), SourceBytes(model.graph, sources, rank));
    }
    const std::string driver = absl::StrReplaceAll(kDriver, {{"LEARNING_RATE", absl::StrCat(kLearningRate)}});
    RunDriver(target_, folder_, driver, model.program);
    if (testing::Test::HasFailure()) return;
    for (int rank = 0; rank < ranks; ++rank) Compare(model.graph, expected, rank);
  }

 private:
  static std::string SourceBytes(const ir::Graph& graph, const ir::RankSources& sources, int rank) {
    std::string bytes;
    for (const ir::OpKind kind : {ir::OpKind::kParameter, ir::OpKind::kInput}) {
      for (const ir::Op& op : graph.ops) {
        if (op.kind != kind) continue;
        const std::vector<double>& values = sources.at(op.id)[static_cast<size_t>(rank)].values;
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
      }
    }
    return bytes;
  }

  void Compare(const ir::Graph& graph, const IdVector<ir::OpId, ir::TensorOnRanks>& expected, int rank) {
    std::vector<double> results;
    for (absl::string_view text : absl::StrSplit(ReadText(absl::StrCat(folder_, "/results_", rank)), ' ')) {
      double value = 0;
      ASSERT_TRUE(absl::SimpleAtod(text, &value)) << text;
      results.push_back(value);
    }
    std::map<ir::OpId, ir::OpId> new_value;
    for (const ir::StateUpdate& update : graph.updates) new_value[update.state] = update.value;
    std::vector<double> wanted = expected[*graph.loss][static_cast<size_t>(rank)].values;
    for (const ir::Op& op : graph.ops) {
      if (op.kind != ir::OpKind::kParameter) continue;
      const ir::OpId value = new_value.count(op.id) > 0 ? new_value[op.id] : op.id;
      const std::vector<double>& values = expected[value][static_cast<size_t>(rank)].values;
      wanted.insert(wanted.end(), values.begin(), values.end());
    }
    ASSERT_EQ(results.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(results[i], wanted[i], 2e-4 * (1 + std::abs(wanted[i]))) << "rank " << rank << ", number " << i;
    }
  }

  RunTarget target_;
  std::string folder_;
};

TEST(GeneratedManualProgram, TrainsAsTheInterpreterDoes) {
  struct RanksOnMesh {
    std::vector<ir::RankAxis> axes;
    std::vector<ir::MeshAxis> mesh;
  };
  const std::vector<RanksOnMesh> cases = {{{{"world", 1}}, {}},
                                          {{{"world", 2}}, {AxisOf("m0", 2)}},
                                          {{{"world", 3}}, {AxisOf("m0", 3)}},
                                          {{{"dp", 2}, {"tp", 2}}, {AxisOf("dp", 2), AxisOf("tp", 2)}},
                                          {{{"world", 4}}, {AxisOf("m0", 2), AxisOf("m1", 2)}},
                                          {{{"dp", 3}, {"tp", 2}}, {AxisOf("dp", 3), AxisOf("tp", 2)}}};
  ManualRun run(CpuRuns(), FreshFolder("manual"));
  std::set<std::string> done;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (uint64_t round = 0; round < 2; ++round) {
      SCOPED_TRACE(absl::StrCat("case ", i, ", round ", round));
      const Model model = RandomModel(cases[i].axes, cases[i].mesh, 10 * i + round);
      for (const ir::Step& step : model.program.steps) {
        const auto* collective = std::get_if<ir::Collective>(&step.action);
        const auto* compute = std::get_if<ir::Compute>(&step.action);
        if (collective != nullptr) done.insert(std::string(ir::CollectiveKindName(collective->kind)));
        if (compute != nullptr) done.insert(std::string(ir::OpKindName(compute->kind)));
      }
      run.Run(model);
      if (HasFatalFailure()) return;
    }
  }
  // The random models must contain each of these.
  for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv",
                           "neighbor_exchange", "neighbor_exchange_v2", "rank_slice", "rank_pad", "rank_value"}) {
    EXPECT_EQ(done.count(kind), 1u) << kind;
  }
}

TEST(GeneratedManualProgram, TrainsOnGpusAsTheInterpreterDoes) {
  ManualRun run(CudaRuns(), FreshFolder("manual_cuda"));
  run.Run(RandomModel({{"dp", 2}, {"tp", 2}}, {AxisOf("dp", 2), AxisOf("tp", 2)}, 30));
  run.Run(RandomModel({{"world", 3}}, {AxisOf("m0", 3)}, 21));
}

}  // namespace
}  // namespace cleave::codegen
