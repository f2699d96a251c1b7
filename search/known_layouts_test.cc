// Known answers that need a program: which collectives given layouts cause.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/testing/meshes.h"
#include "search/search.h"

namespace cleave {
namespace {

OpId Parameter(GraphBuilder& builder, const Shape& shape, const std::string& name) {
  return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
}

// The collectives of a plan: "all_reduce y over m1", by what they move and the axes.
std::vector<std::string> Collectives(const Graph& graph, const Plan& plan) {
  const absl::StatusOr<Program> program = Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<std::string> texts;
  for (const Step& step : program->steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr) continue;
    std::string text = absl::StrCat(CollectiveKindName(collective->kind), " ",
                                    graph.op(program->value(collective->transfers[0].input).origin).name, " over");
    for (AxisId axis : collective->axes) absl::StrAppend(&text, " ", program->mesh.axis(axis).name);
    texts.push_back(std::move(text));
  }
  return texts;
}

// The op "y" on parameters that lie as it reads them; "z" reads its pieces.
std::vector<std::string> CollectivesOf(const Graph& graph, const Mesh& mesh,
                                       const std::vector<std::optional<std::vector<int64_t>>>& counts) {
  const Op& op = graph.op(*graph.Find("y"));
  const Op& reader = graph.op(*graph.Find("z"));
  const Rule rule = RuleOf(graph, op);
  const absl::StatusOr<Strategy> strategy = StrategyFromCounts(counts, rule, mesh, nullptr);
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  Plan plan{.mesh = mesh, .ops = IdVector<OpId, OpPlan>(graph.ops.size())};
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Op& source = graph.op(op.inputs[i]);
    const Layout layout = InputLayout(*strategy, rule, static_cast<int>(i));
    plan.ops[source.id].strategy = *StrategyFromOutputLayout(layout, RuleOf(graph, source), mesh);
  }
  plan.ops[op.id].strategy = *strategy;
  Layout resolved = OutputLayout(*strategy, rule);
  resolved.partial.clear();
  plan.ops[reader.id].strategy = *StrategyFromOutputLayout(resolved, RuleOf(graph, reader), mesh);
  return Collectives(graph, plan);
}

Graph BatchedMatmul() {
  GraphBuilder builder;
  const OpId x = Parameter(builder, {2, 4, 8, 16}, "x");
  const OpId w = Parameter(builder, {2, 4, 16, 32}, "w");
  builder.Add(OpKind::kNeg, {builder.Add(OpKind::kMatmul, {x, w}, {}, "y")}, {}, "z");
  return std::move(builder).Build();
}

TEST(KnownLayoutsTest, ACutContractionIsOneAllReduce) {
  EXPECT_EQ(CollectivesOf(BatchedMatmul(), MeshOf({2, 4, 8, 16}), {{{2, 4, 8, 16}}, {{2, 4, 16, 1}}}),
            (std::vector<std::string>{"all_reduce y over m3"}));
}

TEST(KnownLayoutsTest, AnUncutContractionNeedsNothing) {
  EXPECT_EQ(CollectivesOf(BatchedMatmul(), MeshOf({2, 4, 8, 16}), {{{2, 4, 8, 1}}, {{2, 4, 1, 16}}}),
            std::vector<std::string>{});
}

TEST(KnownLayoutsTest, ThePublishedPinReducesInPairs) {
  GraphBuilder builder;
  const OpId x = Parameter(builder, {256, 784}, "x");
  const OpId w = Parameter(builder, {512, 784}, "w");
  builder.Add(OpKind::kNeg, {builder.Add(OpKind::kMatmul, {x, w}, {{attribute::kTransposeB, true}}, "y")}, {}, "z");
  const Mesh mesh = Mesh::OfDevices(8);
  EXPECT_EQ(CollectivesOf(std::move(builder).Build(), mesh, {{{4, 2}}, {{1, 2}}}),
            (std::vector<std::string>{"all_reduce y over m2"}));
  for (int rank = 0; rank < 8; rank += 2) {
    EXPECT_EQ(mesh.Group(rank, {AxisId(2)}), (std::vector<int>{rank, rank + 1}));
  }
}

TEST(KnownLayoutsTest, AReshapeThatDropsOnesMovesNothing) {
  GraphBuilder builder;
  const OpId x = Parameter(builder, {128, 64, 1, 1}, "x");
  builder.Add(OpKind::kNeg,
              {builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, std::vector<int64_t>{128, 64}}}, "y")}, {}, "z");
  EXPECT_EQ(CollectivesOf(std::move(builder).Build(), MeshOf({8}), {{{8, 1, 1, 1}}}), std::vector<std::string>{});
}

Pin RowsOverAll(const Graph& graph, const std::string& name) {
  LayoutPin layout;
  layout.dimensions.resize(2);
  for (const char* axis : {"m0", "m1"}) layout.dimensions[0].push_back({.value = axis, .span = {}});
  return {.op = *graph.Find(name), .demand = layout, .span = {}};
}

// 4x4096 times 4096x4096, everything on rows: the small operand moves, never the weight.
TEST(KnownLayoutsTest, TheSmallOperandMoves) {
  GraphBuilder builder;
  const OpId x = Parameter(builder, {4, 4096}, "x");
  const OpId w = Parameter(builder, {4096, 4096}, "w");
  builder.Add(OpKind::kNeg, {builder.Add(OpKind::kMatmul, {x, w}, {}, "y")}, {}, "z");
  const Graph graph = std::move(builder).Build();
  Pins pins;
  for (const char* name : {"x", "w", "z"}) pins.pins.push_back(RowsOverAll(graph, name));
  Diagnostics diagnostics;
  const std::optional<Plan> plan = Search(graph, CpuCluster(4), pins, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(plan.has_value()) << diagnostics.items().front().message;
  EXPECT_EQ(Collectives(graph, *plan),
            (std::vector<std::string>{"all_to_all x over m0 m1", "reduce_scatter y over m0 m1"}));
}

}  // namespace
}  // namespace cleave
