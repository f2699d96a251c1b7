#include "search/knobs/zero/zero.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/transforms/distribute/distribute.h"
#include "ir/transforms/precision/precision.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;

std::string Divided(const std::string& storage, const ir::Mesh& mesh, const ir::Shape& shape) {
  return ir::LayoutText(DividedLayout(*ir::ParseLayout(storage, mesh), mesh, shape), mesh);
}

TEST(DividedLayoutTest, OneDimensionForAllFreeAxes) {
  const ir::Mesh mesh = *ir::Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 2}});
  EXPECT_EQ(Divided("[-, -]", mesh, {8, 8}), "[m0 m1, -]");
  EXPECT_EQ(Divided("[-, -]", mesh, {8, 12}), "[m0 m1, -]");  // Even in both: the first one.
  EXPECT_EQ(Divided("[-, -]", mesh, {9, 8}), "[-, m0 m1]");   // 3 * 8 against 9 * 2.
  EXPECT_EQ(Divided("[-, -]", mesh, {13, 7}), "[-, m0 m1]");  // 4 * 7 against 13 * 2.
  EXPECT_EQ(Divided("[-]", mesh, {3}), "[m0 m1]");            // One rank has no element.
  EXPECT_EQ(Divided("[m0, -]", mesh, {8, 8}), "[m0 m1, -]");
  EXPECT_EQ(Divided("[-, m1]", mesh, {7, 8}), "[-, m1 m0]");
  EXPECT_EQ(Divided("[m1, m0]", mesh, {8, 8}), "[m1, m0]");
}

TEST(DividedLayoutTest, SeveralDimensionsWhereNoneIsLongEnough) {
  const ir::Mesh mesh =
      *ir::Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 2}, {.name = "m2", .size = 2}});
  EXPECT_EQ(Divided("[-, -, -]", mesh, {2, 2, 2}), "[m0, m1, m2]");
  EXPECT_EQ(Divided("[-, -]", mesh, {4, 1}), "[m0 m1 m2, -]");
  EXPECT_EQ(Divided("[-, -]", mesh, {8, 2}), "[m0 m1 m2, -]");
}

TEST(DividedLayoutTest, FastLinksFirst) {
  const ir::Mesh mesh = *ir::Mesh::Create({{.name = "m0", .size = 2, .link = "network", .weight = 1},
                                           {.name = "m1", .size = 2, .link = "host", .weight = 0.1}});
  EXPECT_EQ(Divided("[-]", mesh, {8}), "[m1 m0]");
}

struct CompiledPlan {
  ir::Plan plan;
  ir::Program program;
};

CompiledPlan Compile(const ir::Graph& graph, int64_t devices, int zero, const ir::Pins& pins = {}) {
  Diagnostics diagnostics;
  const SearchOptions options{.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}, .zero = zero};
  const std::optional<ir::Plan> plan = Search(graph, CpuCluster(devices), pins, options, diagnostics);
  EXPECT_TRUE(plan.has_value());
  EXPECT_EQ(ir::VerifyPlan(graph, *plan), std::vector<std::string>{});
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(graph, *plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  absl::StatusOr<ir::Program> program = ir::Partition(distributed->graph, distributed->plan);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(ir::CheckStatically(*program), std::vector<std::string>{});
  EXPECT_TRUE(ir::CheckBySimulation(distributed->graph, *program).ok());
  return {.plan = *plan, .program = *std::move(program)};
}

// The layouts of a parameter, its gradient, and its state, as the program has them.
std::string Layouts(const ir::Graph& graph, const CompiledPlan& found, const std::string& parameter,
                    const std::string& state) {
  const auto text = [&](ir::OpId op) {
    const ir::OpPlan& own = found.plan.ops[op];
    return ir::LayoutText(own.output.value_or(ir::OutputLayout(own.strategy, ir::RuleOf(graph, graph.op(op)))),
                          found.plan.mesh);
  };
  std::string gradient;
  for (const ir::Op& op : graph.ops) {
    if (op.gradient_of == graph.Find(parameter)) gradient = text(op.id);
  }
  return text(*graph.Find(parameter)) + "; " + gradient + "; " + text(*graph.Find(state));
}

TEST(ShardReplicasTest, EachLevelDividesMore) {
  const ir::Graph graph = Gpt({});
  const std::string weight = "x.0.up.weight", state = "x.0.up.weight.adam_m";
  ASSERT_TRUE(graph.Find(state).has_value());
  const std::vector<std::string> layouts = {
      "[-, -]; [-, -] partial(m0: sum, m1: sum); [-, -]",
      "[-, -]; [-, -] partial(m0: sum, m1: sum); [m0 m1, -]",
      "[-, -]; [m0 m1, -]; [m0 m1, -]",
      "[m0 m1, -]; [m0 m1, -]; [m0 m1, -]",
  };
  std::vector<ir::MemoryPrediction> memory;
  for (int level = 0; level <= 3; ++level) {
    const CompiledPlan found = Compile(graph, 4, level);
    EXPECT_EQ(Layouts(graph, found, weight, state), layouts[static_cast<size_t>(level)]);
    memory.push_back(ir::PlanMemory(graph, found.program).use.prediction);
  }
  // The bytes that are kept from step to step: first two of three equal parts are divided by four ranks, then all
  // three.
  EXPECT_LT(memory[1].optimizer.value(), 0.26 * static_cast<double>(memory[0].optimizer.value()));
  EXPECT_EQ(memory[2].optimizer, memory[1].optimizer);
  EXPECT_LT(memory[3].parameters.value(), 0.26 * static_cast<double>(memory[0].parameters.value()));
  EXPECT_LT(memory[3].peak, memory[0].peak);
}

// In 16 bits a weight is in pieces already at level 1, and a step gathers its copy once. Norms read theirs in f32.
TEST(ShardReplicasTest, CopiesAreGatheredInPlaceOfParameters) {
  const ir::Graph graph = ir::ApplyPrecision(Gpt({}), ir::Precision::kBf16).graph;
  for (int level = 1; level <= 3; ++level) {
    const CompiledPlan found = Compile(graph, 4, level);
    EXPECT_EQ(
        Layouts(graph, found, "x.0.up.weight", "x.0.up.weight.adam_m"),
        level == 1 ? "[m0 m1, -]; [-, -] partial(m0: sum, m1: sum); [m0 m1, -]" : "[m0 m1, -]; [m0 m1, -]; [m0 m1, -]");
    int gathers = 0;
    for (const ir::Step& step : found.program.steps) {
      const auto* const collective = std::get_if<ir::Collective>(&step.action);
      if (collective == nullptr || collective->kind != ir::CollectiveKind::kAllGather) continue;
      for (const ir::Transfer& transfer : collective->transfers) {
        if (found.program.value(transfer.output).origin != *graph.Find("x.0.up.weight.bf16")) continue;
        EXPECT_EQ(step.phase, gathers == 0 ? ir::Phase::kForward : ir::Phase::kBackward);
        ++gathers;
      }
    }
    EXPECT_EQ(gathers, level == 3 ? 2 : 1);
  }
}

TEST(ShardReplicasTest, APinnedParameterStaysWhereItIs) {
  const ir::Graph graph = Mlp(32, {16, 16, 16});
  ir::Pins pins;
  pins.pins.push_back({.op = *graph.Find("w0"), .demand = ir::ReplicatePin{}, .span = {}});
  const CompiledPlan found = Compile(graph, 4, 3, pins);
  EXPECT_EQ(found.plan.ops[*graph.Find("w0")].retention, ir::Retention::kKeep);
  EXPECT_EQ(found.plan.ops[*graph.Find("w1")].retention, ir::Retention::kRedistribute);
  const ir::Op& pinned = graph.op(*graph.Find("w0"));
  EXPECT_EQ(ir::OutputLayout(found.plan.ops[pinned.id].strategy, ir::RuleOf(graph, pinned)), ir::Layout::Replicated(2));
  EXPECT_EQ(found.plan.ops[pinned.id].decided_by, ir::DecidedBy::kPin);
}

TEST(ShardReplicasTest, AnySizesOnAnyNumberOfRanks) {
  const ir::Graph graph = Mlp(12, {5, 3, 1});
  for (int64_t devices : {1, 2, 3, 6, 8, 12}) {
    for (int level = 1; level <= 3; ++level) Compile(graph, devices, level);
  }
}

}  // namespace
}  // namespace cleave::search
