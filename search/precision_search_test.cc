// Tests plans for graphs that multiply in bf16: their tensors are half as large, and they are cut like those of f32.

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/transforms/precision/precision.h"
#include "search/price/cost/cost.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::SeedNetwork;

ir::Graph InBf16(const ir::Graph& graph) { return ir::ApplyPrecision(graph, ir::Precision::kBf16).graph; }

ir::Plan Found(const ir::Graph& graph, int64_t devices, const SearchOptions& options) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(graph, CpuCluster(devices), {}, options, diagnostics);
  EXPECT_TRUE(plan.has_value()) << RenderText(diagnostics, SourceSet());
  if (!plan.has_value()) return {};
  EXPECT_TRUE(ir::VerifyPlan(graph, *plan).empty());
  EXPECT_NEAR(plan->search.cost, PlanCost(FactsOf(graph), *plan).price, 1e-6 * plan->search.cost + 1e-9);
  return *plan;
}

TEST(PrecisionSearchTest, DataParallelSendsTheGradientsInF32) {
  for (const ir::Graph& graph : {SeedNetwork(), Gpt({}), Mlp(64, {64, 512, 512, 16})}) {
    const SearchOptions options{.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}};
    EXPECT_DOUBLE_EQ(Found(InBf16(graph), 4, options).search.cost, Found(graph, 4, options).search.cost);
  }
}

// With a large batch, no plan moves gradients only, and the other values that move are bf16.
TEST(PrecisionSearchTest, ActivationsCostHalf) {
  for (const ir::SearchAlgorithm algorithm : {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kExact}) {
    const ir::Graph graph = Mlp(8, {512, 2048, 512});
    for (const int64_t devices : {2, 4, 8}) {
      const SearchOptions options{.algorithm = algorithm, .dataset = {}};
      const double in_f32 = Found(graph, devices, options).search.cost;
      const double in_bf16 = Found(InBf16(graph), devices, options).search.cost;
      EXPECT_NEAR(in_bf16, in_f32 / 2, 0.01 * in_f32) << devices;
    }
  }
}

// A copy of a parameter has the layout in which it is read. So do copies of biases, whose moves have no price: only
// gradients are sent.
TEST(PrecisionSearchTest, CopiesOfParametersAreMadeWhereTheyAreRead) {
  const ir::Graph graph = InBf16(Gpt({}));
  const ir::Plan plan = Found(graph, 4, {.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}});
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kCast || graph.op(op.inputs[0]).kind != ir::OpKind::kParameter) continue;
    EXPECT_EQ(plan.ops[op.id].strategy, ir::Strategy::Replicated(ir::RuleOf(graph, op))) << op.name;
    EXPECT_THAT(plan.ops[op.id].reason, ::testing::HasSubstr("made as "));
  }
}

// With zero = 3 the parameters and their copies are divided. Only copies are gathered, twice, with half the bytes.
TEST(PrecisionSearchTest, ZeroGathersTheCopies) {
  const ir::Graph graph = InBf16(Mlp(64, {64, 512, 512, 16}));
  const ir::Plan plan = Found(graph, 4, {.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}, .zero = 3});
  const ir::OpId copy = *graph.Find("w1.bf16");
  EXPECT_EQ(plan.ops[copy].strategy.cuts, plan.ops[*graph.Find("w1")].strategy.cuts);
  EXPECT_NE(plan.ops[copy].strategy, ir::Strategy::Replicated(ir::RuleOf(graph, graph.op(copy))));
  EXPECT_EQ(plan.ops[copy].retention, ir::Retention::kRedistribute);
}

TEST(PrecisionSearchTest, NoModelCostsMore) {
  for (const ir::Graph& graph : {SeedNetwork(), Gpt({}), Mlp(64, {64, 512, 512, 16})}) {
    for (const int64_t devices : {2, 4, 6, 8}) {
      const SearchOptions options{.dataset = {}};
      EXPECT_LE(Found(InBf16(graph), devices, options).search.cost, Found(graph, devices, options).search.cost * 1.0001)
          << devices;
    }
  }
}

}  // namespace
}  // namespace cleave::search
