#include "search/oracle/oracle.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"
#include "ir/testing/meshes.h"
#include "ir/testing/seed.h"
#include "search/price/cost/cost.h"
#include "search/solve/exact/exact.h"
#include "search/solve/sapp/sapp.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

using testing::LettersOf;
using testing::Mlp;
using testing::RandomSmallGraph;
using testing::Rolled;
using testing::SeedNetwork;

std::optional<BestPlan> Best(const ir::Graph& graph, const ir::Mesh& mesh, double gradient_weight,
                             const OracleOptions& options = {}) {
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, mesh, {.gradient_weight = gradient_weight, .dataset = {}}, {});
  return TryAllPlans(assignment, options);
}

TEST(AllStrategiesTest, CountsArrangementsOfAxesInFactors) {
  const ir::Graph graph = Mlp(64, {64, 64});
  const auto count = [&](const char* op, const std::vector<int64_t>& mesh, bool is_product) {
    return AllStrategies(ir::RuleOf(graph, graph.op(*graph.Find(op))), ir::MeshOf(mesh), is_product).size();
  };
  // Each further axis enters one of three factors, at any place among the axes that are there: 3 * 4 * 5.
  EXPECT_EQ(count("h0", {2}, true), 3u);
  EXPECT_EQ(count("h0", {2, 2}, true), 3u * 4);
  EXPECT_EQ(count("h0", {2, 2, 2}, true), 3u * 4 * 5);
  // Two dimensions, or none: 2 * 3 with both axes, 2 * 2 with one of them, 1 with none.
  EXPECT_EQ(count("h0.bias", {2, 2}, false), 11u);
}

TEST(AllStrategiesTest, AProductLeavesAnAxisIdleOnlyWhereNothingIsLeftToCut) {
  const ir::Graph graph = Mlp(3, {2, 1});
  const ir::Rule rule = ir::RuleOf(graph, graph.op(*graph.Find("h0")));
  EXPECT_EQ(AllStrategies(rule, ir::MeshOf({2}), true).size(), 2u);     // Rows or the contracted dimension.
  EXPECT_EQ(AllStrategies(rule, ir::MeshOf({2, 2}), true).size(), 2u);  // Both, by one axis each.
  EXPECT_EQ(AllStrategies(rule, ir::MeshOf({5}), true).size(), 1u);     // None.
}

// These are the known answers 1 to 6 of cases/search.md.
TEST(OracleTest, FindsTheKnownOptima) {
  const std::vector<int64_t> six_of_32(7, 32), six_of_256(7, 256);
  EXPECT_NEAR(Best(Mlp(256, six_of_32), ir::MeshOf({4}), 1)->cost.price, 36864, 1);
  EXPECT_NEAR(Best(Mlp(256, six_of_32), ir::MeshOf({4}), 0.1)->cost.price, 3686.4, 1);
  EXPECT_NEAR(Best(Mlp(32, six_of_256), ir::MeshOf({4}), 1)->cost.price, 245760, 1);
  EXPECT_NEAR(Best(Mlp(256, six_of_32), ir::MeshOf({2, 2}, {1, 0.1}), 1)->cost.price, 14745.6, 1);
}

TEST(OracleTest, FindsTheKnownOptimaOfTheSeedNetwork) {
  const ir::Graph graph = SeedNetwork();
  EXPECT_NEAR(Best(graph, ir::MeshOf({2, 2, 2}), 0.1)->cost.price, 298547.2, 1);
  EXPECT_NEAR(Best(graph, ir::MeshOf({2, 2, 2}), 0.25)->cost.price, 393856, 1);
  EXPECT_NEAR(Best(graph, ir::MeshOf({2, 2, 2}), 1)->cost.price, 525568, 1);
}

TEST(OracleTest, PruningLosesNothing) {
  const uint64_t first = ir::TestSeed();
  for (uint64_t seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Graph graph = RandomSmallGraph(seed, {.most_products = 3, .most_light_ops = 1, .largest_size = 7});
    const ir::Mesh mesh =
        seed % 4 == 0 ? ir::MeshOf({2, 2}, {1, 0.1}) : ir::MeshOf({2 + static_cast<int64_t>(seed % 2)});
    const std::optional<BestPlan> whole = Best(graph, mesh, 0.1, {.prune = false});
    const std::optional<BestPlan> pruned = Best(graph, mesh, 0.1);
    ASSERT_TRUE(whole.has_value() && pruned.has_value());
    EXPECT_NEAR(pruned->cost.price, whole->cost.price, 1e-9 * std::max(1.0, whole->cost.price));
    EXPECT_EQ(pruned->cost.collectives, whole->cost.collectives);
    EXPECT_LE(pruned->tried, whole->tried);
  }
}

// The prices that the walk takes as settled must not depend on the order of decisions: the plan set at once costs the
// same.
TEST(OracleTest, ThePlanCostsWhatItIsSaidTo) {
  const uint64_t first = ir::TestSeed();
  for (uint64_t seed = first; seed < first + 20; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Graph graph = RandomSmallGraph(seed);
    const GraphFacts facts = FactsOf(graph);
    Assignment assignment(facts, ir::MeshOf({2, 2}), {.gradient_weight = 0.1, .dataset = {}}, {});
    const Cost before = assignment.cost();
    const std::optional<BestPlan> best = TryAllPlans(assignment, {});
    EXPECT_EQ(assignment.cost(), before);
    ASSERT_TRUE(best.has_value());
    assignment.Apply(best->strategies);
    EXPECT_NEAR(assignment.cost().price, best->cost.price, 1e-9 * best->cost.price);
    EXPECT_EQ(best->cost.impossible, 0);
    ir::Plan plan{.cluster = "cpu", .mesh = assignment.mesh(), .ops = {}, .gradient_weight = 0.1, .search = {}};
    for (const ir::Op& op : graph.ops) plan.ops.push_back({.strategy = assignment.strategy(op.id), .output = {}});
    EXPECT_NEAR(PlanCost(FactsOf(graph), plan).price, best->cost.price, 1e-6 * best->cost.price);
  }
}

// A slice of one row is made on the rank that has it, and sent to the one that reads it: what is sent does not depend
// on the number of rows. exact proves the same plan.
TEST(OracleTest, RowsThatAreRolledSendOnlyThem) {
  constexpr int64_t kWidth = 6;
  const double row = 4.0 * kWidth;
  for (const int64_t devices : {2, 3, 4}) {
    for (const int64_t rows : {61, 120}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows on " << devices);
      const ir::Graph graph = Rolled(rows, kWidth, 1);
      const GraphFacts facts = FactsOf(graph);
      Assignment assignment(facts, ir::MeshOf({devices}), {.gradient_weight = 0.1, .dataset = {}}, {});
      const std::optional<BestPlan> best = TryAllPlans(assignment, {});
      ASSERT_TRUE(best.has_value());
      const double share = (static_cast<double>(devices) - 1) / static_cast<double>(devices);
      const double gradients = 0.1 * 2 * share * 2 * 4 * kWidth * kWidth;
      EXPECT_LE(best->cost.price, gradients + 4 * row);
      EXPECT_GE(best->cost.price, gradients + 2 * row);
      Sapp(assignment);
      EXPECT_NEAR(FindBest(assignment, Freedom::Whole(assignment.table())).cost, best->cost.price,
                  1e-9 * best->cost.price);
    }
  }
}

TEST(OracleTest, GivesUpWhenToldTo) {
  EXPECT_FALSE(Best(SeedNetwork(), ir::MeshOf({2, 2}), 1, {.most_tried = 10}).has_value());
}

}  // namespace
}  // namespace cleave::search
