#include "search/solve/assignment/assignment.h"

#include <random>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/cost.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/choices.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Plan PlanOf(const Assignment& assignment) {
  ir::Plan plan{.cluster = "cpu", .mesh = assignment.mesh(), .ops = {}, .gradient_weight = 0.1, .search = {}};
  for (const ir::Op& op : assignment.facts().graph->ops) {
    plan.ops.push_back({.strategy = assignment.strategy(op.id), .output = assignment.demanded_output(op.id)});
  }
  return plan;
}

// A random valid cut of a random op.
Change RandomChange(const Assignment& assignment, const std::vector<ir::OpId>& ops, std::mt19937& random) {
  const ir::OpId op = ops[random() % ops.size()];
  const auto axes = assignment.mesh().AxisIds();
  const ir::AxisId axis = axes[random() % axes.size()];
  const std::vector<int> factors =
      FactorsFor(assignment.strategy(op), assignment.facts().rule(op), assignment.mesh(), axis);
  if (factors.empty()) return {.op = op, .strategy = Without(assignment.strategy(op), axis)};
  const int factor = factors[random() % factors.size()];
  return {.op = op,
          .strategy = *Moved(assignment.strategy(op), assignment.facts().rule(op), assignment.mesh(), factor, axis)};
}

TEST(AssignmentTest, IncrementalPriceEqualsThatOfTheWholePlan) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  const std::vector<ir::OpId> ops = facts.set_ops;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Assignment assignment(facts, ir::Mesh::OfDevices(4), {.gradient_weight = 0.1, .dataset = {}}, {});
    for (int step = 0; step < 25; ++step) {
      assignment.Apply(std::vector<Change>{RandomChange(assignment, ops, random)});
      const ir::Plan plan = PlanOf(assignment);
      ASSERT_EQ(ir::VerifyPlan(graph, plan), std::vector<std::string>{});
      ASSERT_NEAR(assignment.cost().price, PlanCost(facts, plan).price, 1e-6 * assignment.cost().price + 1e-6) << step;
      ASSERT_EQ(assignment.cost().impossible, 0);
    }
  }
}

TEST(AssignmentTest, TimeAndMemoryArePricedIncrementallyToo) {
  const ir::Graph graph = testing::Gpt({});
  const GraphFacts facts = FactsOf(graph);
  const std::vector<ir::OpId> ops = facts.set_ops;
  const Cluster cluster = CpuCluster(4);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  const Prices time = TimePrices(facts, cluster, mesh);
  for (const Prices& prices : {time, WithMemoryWeight(facts, mesh, 1e-9, time), WithMemoryWeight(facts, mesh, 2, {})}) {
    std::mt19937 random(3);
    Assignment assignment(facts, mesh, {.gradient_weight = 0.1, .dataset = {}, .prices = prices}, {});
    for (int step = 0; step < 10; ++step) {
      const Cost before = assignment.cost();
      const int mark = assignment.mark();
      assignment.Apply(std::vector<Change>{RandomChange(assignment, ops, random)});
      const double whole = PlanCost(facts, PlanOf(assignment), prices).price;
      ASSERT_NEAR(assignment.cost().price, whole, 1e-9 * whole) << step;
      if (step % 3 > 0) continue;
      assignment.Rollback(mark);
      EXPECT_EQ(assignment.cost(), before);
    }
  }
}

TEST(AssignmentTest, HeldChangesComeToTheSame) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  const std::vector<ir::OpId> ops = facts.set_ops;
  std::mt19937 random(5);
  Assignment assignment(facts, ir::Mesh::OfDevices(4), {.gradient_weight = 0.1, .dataset = {}}, {});
  const Cost before = assignment.cost();
  assignment.Hold();
  for (int step = 0; step < 20; ++step) assignment.Apply(std::vector<Change>{RandomChange(assignment, ops, random)});
  assignment.Release();
  const double whole = PlanCost(facts, PlanOf(assignment)).price;
  EXPECT_NEAR(assignment.cost().price, whole, 1e-9 * whole);
  assignment.Rollback(0);
  EXPECT_EQ(assignment.cost(), before);
}

TEST(AssignmentTest, RollbackRestoresStrategiesAndPrice) {
  const ir::Graph graph = testing::Gpt({});
  const GraphFacts facts = FactsOf(graph);
  const std::vector<ir::OpId> ops = facts.set_ops;
  std::mt19937 random(7);
  Assignment assignment(facts, ir::Mesh::OfDevices(2), {.gradient_weight = 0.1, .dataset = {}}, {});
  for (int step = 0; step < 20; ++step) assignment.Apply(std::vector<Change>{RandomChange(assignment, ops, random)});
  const ir::Plan before = PlanOf(assignment);
  const Cost cost = assignment.cost();
  const int mark = assignment.mark();
  for (int step = 0; step < 20; ++step) assignment.Apply(std::vector<Change>{RandomChange(assignment, ops, random)});
  assignment.Rollback(mark);
  EXPECT_EQ(PlanOf(assignment).ops, before.ops);
  EXPECT_EQ(assignment.cost(), cost);
}

TEST(AssignmentTest, ParametersAndUpdatesFollowTheirHeaviestReader) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(2), {.gradient_weight = 0.1, .dataset = {}}, {});
  const ir::OpId product = *graph.Find("h1");
  assignment.Apply(std::vector<Change>{{product, testing::Letters(graph, assignment.mesh(), product, "j")}});
  EXPECT_EQ(ir::LayoutText(assignment.produced(*graph.Find("w1")), assignment.mesh()), "[m0, -]");
  for (const ir::StateUpdate& update : graph.updates) {
    if (graph.op(update.state).name == "w1") {
      EXPECT_EQ(assignment.produced(update.value), assignment.produced(update.state));
    }
  }
}

}  // namespace
}  // namespace cleave::search
