#include "search/explain/classic_price.h"

#include "gtest/gtest.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/cost.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Plan Found(const ir::Graph& graph, int64_t devices, ir::Price price) {
  Diagnostics diagnostics;
  SearchOptions options;
  options.price = price;
  const std::optional<ir::Plan> plan = Search(graph, CpuCluster(devices), ir::Pins(), options, diagnostics);
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(ir::Plan());
}

// The price of a plan that was found under the price is the sum of the search.
TEST(ClassicPriceTest, OfAClassicPlanItIsTheCostThatTheSearchFound) {
  for (int64_t devices : {2, 8, 12}) {
    const ir::Graph graph = testing::SeedNetwork();
    const ir::Plan plan = Found(graph, devices, ir::Price::kClassic);
    EXPECT_GT(plan.search.cost, 0);
    EXPECT_NEAR(ClassicPrice(FactsOf(graph), plan), plan.search.cost, 1e-6 * plan.search.cost) << devices;
  }
}

// 256x784 by 512x784 transposed on ((4, 2), (1, 2)): rows, rows, contracted. 0.1 * 401,408 / 2 twice, then the 256x512
// product cut four ways, halved.
TEST(ClassicPriceTest, OneProductAsPublished) {
  ir::Graph graph = testing::MatmulChain({256, 784, 512});
  ir::Plan plan;
  plan.mesh = ir::Mesh::OfDevices(8);
  for (const ir::Op& op : graph.ops) {
    ir::OpPlan planned;
    planned.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op));
    plan.ops.push_back(planned);
  }
  const ir::OpId product = *graph.Find("m0");
  plan.ops[product].strategy = testing::Letters(graph, plan.mesh, product, "iik");
  EXPECT_DOUBLE_EQ(ClassicPrice(FactsOf(graph), plan), 20070.4 + 20070.4 + 256 * 512 / 4 / 2);
}

// The comparison that --explain shows: under each price, the plan that was found with it is not worse than the other
// one.
TEST(ClassicPriceTest, EachPriceFindsItsOwnPlanTheCheaper) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  const ir::Plan bytes = Found(graph, 8, ir::Price::kBytes), classic = Found(graph, 8, ir::Price::kClassic);
  EXPECT_GE(PlanCost(FactsOf(graph), classic).price, 1.46 * PlanCost(FactsOf(graph), bytes).price);
  EXPECT_LE(ClassicPrice(facts, classic), ClassicPrice(facts, bytes));
}

}  // namespace
}  // namespace cleave::search
