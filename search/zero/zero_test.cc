#include "search/zero/zero.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave {
namespace {

using testing::Gpt;
using testing::Mlp;

std::string Divided(const std::string& storage, const Mesh& mesh, const Shape& shape) {
  return LayoutText(DividedLayout(*ParseLayout(storage, mesh), mesh, shape), mesh);
}

TEST(DividedLayoutTest, OneDimensionForAllFreeAxes) {
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 2}});
  EXPECT_EQ(Divided("[-, -]", mesh, {8, 8}), "[m0 m1, -]");
  EXPECT_EQ(Divided("[-, -]", mesh, {8, 12}), "[-, m0 m1]");  // Even in both: the longer one.
  EXPECT_EQ(Divided("[-, -]", mesh, {9, 8}), "[-, m0 m1]");   // 3 * 8 against 9 * 2.
  EXPECT_EQ(Divided("[-, -]", mesh, {13, 7}), "[-, m0 m1]");  // 4 * 7 against 13 * 2.
  EXPECT_EQ(Divided("[-]", mesh, {3}), "[m0 m1]");            // One rank has nothing.
  EXPECT_EQ(Divided("[m0, -]", mesh, {8, 8}), "[m0 m1, -]");
  EXPECT_EQ(Divided("[-, m1]", mesh, {7, 8}), "[-, m1 m0]");
  EXPECT_EQ(Divided("[m1, m0]", mesh, {8, 8}), "[m1, m0]");
}

TEST(DividedLayoutTest, SeveralDimensionsWhereNoneIsLongEnough) {
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 2}, {.name = "m2", .size = 2}});
  EXPECT_EQ(Divided("[-, -, -]", mesh, {2, 2, 2}), "[m0, m1, m2]");
  EXPECT_EQ(Divided("[-, -]", mesh, {4, 1}), "[m0 m1 m2, -]");
  EXPECT_EQ(Divided("[-, -]", mesh, {8, 2}), "[m0 m1 m2, -]");
}

TEST(DividedLayoutTest, FastLinksFirst) {
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 2, .link = "network", .weight = 1},
                                   {.name = "m1", .size = 2, .link = "host", .weight = 0.1}});
  EXPECT_EQ(Divided("[-]", mesh, {8}), "[m1 m0]");
}

struct CompiledPlan {
  Plan plan;
  Program program;
};

CompiledPlan Compile(const Graph& graph, int64_t devices, int zero, const Pins& pins = {}) {
  Diagnostics diagnostics;
  const SearchOptions options{.algorithm = SearchAlgorithm::kDataParallel, .dataset = {}, .zero = zero};
  const std::optional<Plan> plan = Search(graph, CpuCluster(devices), pins, options, diagnostics);
  EXPECT_TRUE(plan.has_value());
  EXPECT_EQ(VerifyPlan(graph, *plan), std::vector<std::string>{});
  const absl::StatusOr<Distributed> distributed = Distribute(graph, *plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(CheckStatically(*program), std::vector<std::string>{});
  EXPECT_TRUE(CheckBySimulation(distributed->graph, *program).ok());
  return {.plan = *plan, .program = *std::move(program)};
}

// The layouts of a parameter, its gradient, and its state, as the program has them.
std::string Layouts(const Graph& graph, const CompiledPlan& found, const std::string& parameter,
                    const std::string& state) {
  const auto text = [&](OpId op) {
    const OpPlan& own = found.plan.ops[op];
    return LayoutText(own.output.value_or(OutputLayout(own.strategy, RuleOf(graph, graph.op(op)))), found.plan.mesh);
  };
  std::string gradient;
  for (const Op& op : graph.ops) {
    if (op.gradient_of == graph.Find(parameter)) gradient = text(op.id);
  }
  return text(*graph.Find(parameter)) + "; " + gradient + "; " + text(*graph.Find(state));
}

TEST(ShardReplicasTest, EachLevelDividesMore) {
  const Graph graph = Gpt({});
  const std::string weight = "x.0.up.weight", state = "x.0.up.weight.adam_m";
  ASSERT_TRUE(graph.Find(state).has_value());
  const std::vector<std::string> layouts = {
      "[-, -]; [-, -] partial(m0: sum, m1: sum); [-, -]",
      "[-, -]; [-, -] partial(m0: sum, m1: sum); [m0 m1, -]",
      "[-, -]; [m0 m1, -]; [m0 m1, -]",
      "[m0 m1, -]; [m0 m1, -]; [m0 m1, -]",
  };
  std::vector<MemoryPrediction> memory;
  for (int level = 0; level <= 3; ++level) {
    const CompiledPlan found = Compile(graph, 4, level);
    EXPECT_EQ(Layouts(graph, found, weight, state), layouts[static_cast<size_t>(level)]);
    memory.push_back(PlanMemory(graph, found.program).use.prediction);
  }
  // What is kept from step to step: two of the three parts of four times as many bytes are divided by four ranks, then
  // all.
  EXPECT_LT(memory[1].optimizer.value(), 0.26 * static_cast<double>(memory[0].optimizer.value()));
  EXPECT_EQ(memory[2].optimizer, memory[1].optimizer);
  EXPECT_LT(memory[3].parameters.value(), 0.26 * static_cast<double>(memory[0].parameters.value()));
  EXPECT_LT(memory[3].peak, memory[0].peak);
}

TEST(ShardReplicasTest, APinnedParameterStaysWhereItIs) {
  const Graph graph = Mlp(32, {16, 16, 16});
  Pins pins;
  pins.pins.push_back({.op = *graph.Find("w0"), .demand = ReplicatePin{}, .span = {}});
  const CompiledPlan found = Compile(graph, 4, 3, pins);
  EXPECT_FALSE(found.plan.ops[*graph.Find("w0")].gather_again);
  EXPECT_TRUE(found.plan.ops[*graph.Find("w1")].gather_again);
  const Op& pinned = graph.op(*graph.Find("w0"));
  EXPECT_EQ(OutputLayout(found.plan.ops[pinned.id].strategy, RuleOf(graph, pinned)), Layout::Replicated(2));
  EXPECT_EQ(found.plan.ops[pinned.id].decided_by, DecidedBy::kPin);
}

TEST(ShardReplicasTest, AnySizesOnAnyNumberOfRanks) {
  const Graph graph = Mlp(12, {5, 3, 1});
  for (int64_t devices : {1, 2, 3, 6, 8, 12}) {
    for (int level = 1; level <= 3; ++level) Compile(graph, devices, level);
  }
}

}  // namespace
}  // namespace cleave
