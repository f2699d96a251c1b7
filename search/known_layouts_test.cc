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

namespace cleave::search {
namespace {

ir::OpId Parameter(ir::GraphBuilder& builder, const ir::Shape& shape, const std::string& name) {
  return builder.Add(ir::OpKind::kParameter, {}, {{ir::attribute::kShape, shape}}, name);
}

// The collectives of a plan: "all_reduce y over m1", by what they move and the axes.
std::vector<std::string> Collectives(const ir::Graph& graph, const ir::Plan& plan) {
  const absl::StatusOr<ir::Program> program = ir::Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<std::string> texts;
  for (const ir::Step& step : program->steps) {
    const auto* collective = std::get_if<ir::Collective>(&step.action);
    if (collective == nullptr) continue;
    std::string text = absl::StrCat(ir::CollectiveKindName(collective->kind), " ",
                                    graph.op(program->value(collective->transfers[0].input).origin).name, " over");
    for (ir::AxisId axis : collective->axes) absl::StrAppend(&text, " ", program->mesh.axis(axis).name);
    texts.push_back(std::move(text));
  }
  return texts;
}

// The op "y" on parameters that lie as it reads them; "z" reads its pieces.
std::vector<std::string> CollectivesOf(const ir::Graph& graph, const ir::Mesh& mesh,
                                       const std::vector<std::optional<std::vector<int64_t>>>& counts) {
  const ir::Op& op = graph.op(*graph.Find("y"));
  const ir::Op& reader = graph.op(*graph.Find("z"));
  const ir::Rule rule = ir::RuleOf(graph, op);
  const absl::StatusOr<ir::Strategy> strategy = ir::StrategyFromCounts(counts, rule, mesh, nullptr);
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  ir::Plan plan{.mesh = mesh, .ops = IdVector<ir::OpId, ir::OpPlan>(graph.ops.size())};
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ir::Op& source = graph.op(op.inputs[i]);
    const ir::Layout layout = ir::InputLayout(*strategy, rule, static_cast<int>(i));
    plan.ops[source.id].strategy = *ir::StrategyFromOutputLayout(layout, ir::RuleOf(graph, source), mesh);
  }
  plan.ops[op.id].strategy = *strategy;
  ir::Layout resolved = ir::OutputLayout(*strategy, rule);
  resolved.partial.clear();
  plan.ops[reader.id].strategy = *ir::StrategyFromOutputLayout(resolved, ir::RuleOf(graph, reader), mesh);
  return Collectives(graph, plan);
}

ir::Graph BatchedMatmul() {
  ir::GraphBuilder builder;
  const ir::OpId x = Parameter(builder, {2, 4, 8, 16}, "x");
  const ir::OpId w = Parameter(builder, {2, 4, 16, 32}, "w");
  builder.Add(ir::OpKind::kNeg, {builder.Add(ir::OpKind::kMatmul, {x, w}, {}, "y")}, {}, "z");
  return std::move(builder).Build();
}

TEST(KnownLayoutsTest, ACutContractionIsOneAllReduce) {
  EXPECT_EQ(CollectivesOf(BatchedMatmul(), ir::MeshOf({2, 4, 8, 16}), {{{2, 4, 8, 16}}, {{2, 4, 16, 1}}}),
            (std::vector<std::string>{"all_reduce y over m3"}));
}

TEST(KnownLayoutsTest, AnUncutContractionNeedsNothing) {
  EXPECT_EQ(CollectivesOf(BatchedMatmul(), ir::MeshOf({2, 4, 8, 16}), {{{2, 4, 8, 1}}, {{2, 4, 1, 16}}}),
            std::vector<std::string>{});
}

TEST(KnownLayoutsTest, ThePublishedPinReducesInPairs) {
  ir::GraphBuilder builder;
  const ir::OpId x = Parameter(builder, {256, 784}, "x");
  const ir::OpId w = Parameter(builder, {512, 784}, "w");
  builder.Add(ir::OpKind::kNeg, {builder.Add(ir::OpKind::kMatmul, {x, w}, {{ir::attribute::kTransposeB, true}}, "y")},
              {}, "z");
  const ir::Mesh mesh = ir::Mesh::OfDevices(8);
  EXPECT_EQ(CollectivesOf(std::move(builder).Build(), mesh, {{{4, 2}}, {{1, 2}}}),
            (std::vector<std::string>{"all_reduce y over m2"}));
  for (int rank = 0; rank < 8; rank += 2) {
    EXPECT_EQ(mesh.Group(rank, {ir::AxisId(2)}), (std::vector<int>{rank, rank + 1}));
  }
}

TEST(KnownLayoutsTest, AReshapeThatDropsOnesMovesNothing) {
  ir::GraphBuilder builder;
  const ir::OpId x = Parameter(builder, {128, 64, 1, 1}, "x");
  builder.Add(ir::OpKind::kNeg,
              {builder.Add(ir::OpKind::kReshape, {x}, {{ir::attribute::kShape, std::vector<int64_t>{128, 64}}}, "y")},
              {}, "z");
  EXPECT_EQ(CollectivesOf(std::move(builder).Build(), ir::MeshOf({8}), {{{8, 1, 1, 1}}}), std::vector<std::string>{});
}

ir::Pin RowsOverAll(const ir::Graph& graph, const std::string& name) {
  ir::LayoutPin layout;
  layout.dimensions.resize(2);
  for (const char* axis : {"m0", "m1"}) layout.dimensions[0].push_back({.value = axis, .span = {}});
  return {.op = *graph.Find(name), .demand = layout, .span = {}};
}

// With 4x4096 times 4096x4096, and everything cut by rows, the small operand moves, never the weight.
TEST(KnownLayoutsTest, TheSmallOperandMoves) {
  ir::GraphBuilder builder;
  const ir::OpId x = Parameter(builder, {4, 4096}, "x");
  const ir::OpId w = Parameter(builder, {4096, 4096}, "w");
  builder.Add(ir::OpKind::kNeg, {builder.Add(ir::OpKind::kMatmul, {x, w}, {}, "y")}, {}, "z");
  const ir::Graph graph = std::move(builder).Build();
  ir::Pins pins;
  for (const char* name : {"x", "w", "z"}) pins.pins.push_back(RowsOverAll(graph, name));
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(graph, CpuCluster(4), pins, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(plan.has_value()) << diagnostics.items().front().message;
  EXPECT_EQ(Collectives(graph, *plan),
            (std::vector<std::string>{"all_to_all x over m0 m1", "reduce_scatter y over m0 m1"}));
}

}  // namespace
}  // namespace cleave::search
