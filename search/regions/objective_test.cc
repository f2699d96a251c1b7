// Compares the plan that a search finds under each objective with all possible plans. CLEAVE_TEST_SEED sets another
// seed.
#include "search/regions/objective.h"

#include <array>
#include <map>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "ir/graph/text.h"
#include "ir/testing/seed.h"
#include "search/cluster/cluster.h"
#include "search/memory/memory.h"
#include "search/oracle/oracle.h"
#include "search/search.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::RandomSmallGraph;

constexpr std::array<ir::Objective, 3> kObjectives = {ir::Objective::kSpeed, ir::Objective::kMemory,
                                                      ir::Objective::kComputeToCommunication};

ir::Plan Found(const ir::Graph& graph, const Cluster& cluster, ir::Objective objective, ir::SearchAlgorithm algorithm) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan =
      Search(graph, cluster, {}, {.algorithm = algorithm, .objective = objective, .dataset = {}}, diagnostics);
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(ir::Plan{});
}

// The price of a plan in the prices of a search under `objective`.
double PriceOf(const ir::Graph& graph, const ir::Plan& plan, ir::Objective objective) {
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, plan.mesh, PaidUnder(objective, facts, plan.mesh, {.dataset = {}}), {});
  std::vector<Change> changes;
  for (const ir::Op& op : graph.ops) {
    if (facts.is_set(op.id)) changes.push_back({op.id, plan.ops[op.id].strategy});
  }
  assignment.Apply(changes);
  return assignment.cost().price;
}

double BestPrice(const ir::Graph& graph, const ir::Mesh& mesh, ir::Objective objective) {
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, mesh, PaidUnder(objective, facts, mesh, {.dataset = {}}), {});
  // The memory that ops keep is not settled stage by stage, so all plans are priced.
  const std::optional<BestPlan> best = TryAllPlans(assignment, {.prune = objective != ir::Objective::kMemory});
  EXPECT_TRUE(best.has_value());
  return best->cost.price;
}

double HeldBytesOf(const ir::Graph& graph, const ir::Plan& plan) {
  const GraphFacts facts = FactsOf(graph);
  double held = 0;
  for (const ir::Op& op : graph.ops) held += HeldBytes(facts, plan.mesh, op.id, plan.ops[op.id].strategy);
  return held;
}

class ObjectiveTest : public ::testing::TestWithParam<ir::Objective> {};

TEST_P(ObjectiveTest, NoPlanOfASmallGraphIsBetter) {
  constexpr uint64_t kGraphs = 40;
  const ir::Objective objective = GetParam();
  uint64_t best_of_sapp = 0;
  for (uint64_t seed = ir::TestSeed(); seed < ir::TestSeed() + kGraphs; ++seed) {
    const ir::Graph graph = RandomSmallGraph(seed, {.most_products = 2, .most_light_ops = 1});
    const Cluster cluster = CpuCluster(2 + static_cast<int64_t>(seed % 2));
    const ir::Plan exact = Found(graph, cluster, objective, ir::SearchAlgorithm::kExact);
    const double best = BestPrice(graph, exact.mesh, objective);
    const double rounding = 1e-6 * (1 + best);
    EXPECT_NEAR(PriceOf(graph, exact, objective), best, rounding)
        << "seed " << seed << " under " << ObjectiveName(objective) << "\n"
        << ir::GraphText(graph);
    const double sapp = PriceOf(graph, Found(graph, cluster, objective, ir::SearchAlgorithm::kSapp), objective);
    EXPECT_GE(sapp, best - rounding) << "no plan is better than the best: seed " << seed;
    if (sapp <= best + rounding) ++best_of_sapp;
  }
  EXPECT_GE(best_of_sapp, kGraphs * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Objectives, ObjectiveTest, ::testing::ValuesIn(kObjectives),
                         [](const auto& test) { return std::string(ObjectiveName(test.param)); });

// One transformer block on 4 devices. Under `speed` all layers divide the batch, since gradients count a tenth; at
// their full price they cost more than what columns and contracted dimensions exchange. Least memory is kept where
// every activation is cut too, whatever that sends.
TEST(ObjectivesTest, ThreeObjectivesThreePlans) {
  const ir::Graph graph = Gpt({.batch = 8, .layers = 1});
  std::map<ir::Objective, ir::Plan> plans;
  for (ir::Objective objective : kObjectives) {
    plans[objective] = Found(graph, CpuCluster(4), objective, ir::SearchAlgorithm::kSapp);
    EXPECT_EQ(plans[objective].search.objective, ObjectiveName(objective));
  }
  const auto measured = [&](ir::Objective measure, ir::Objective plan) {
    return measure == ir::Objective::kMemory ? HeldBytesOf(graph, plans[plan]) : PriceOf(graph, plans[plan], measure);
  };
  // Per measure, the values of the plans for speed, memory and compute_to_communication. docs/search.md shows them.
  const std::map<ir::Objective, std::array<double, 3>> expected = {
      {ir::Objective::kSpeed, {35635.2, 446464, 154828.8}},
      {ir::Objective::kMemory, {1310720, 585728, 863744}},
      {ir::Objective::kComputeToCommunication, {356352, 446464, 276480}}};
  for (const auto& [measure, numbers] : expected) {
    for (size_t i = 0; i < kObjectives.size(); ++i) {
      EXPECT_NEAR(measured(measure, kObjectives[i]), numbers[i], 1)
          << "measured by " << ObjectiveName(measure) << ", the plan for " << ObjectiveName(kObjectives[i]);
      if (kObjectives[i] == measure) continue;
      EXPECT_LT(measured(measure, measure), measured(measure, kObjectives[i]));
    }
  }
}

TEST(ObjectivesTest, LinksCountAlikeInComputeToCommunication) {
  const Cluster hosts = {.name = "hosts",
                         .links = {{.name = "network", .count = 2, .bytes_per_second = 1e9, .latency = Seconds(1e-5)},
                                   {.name = "host", .count = 2, .bytes_per_second = 1e10, .latency = Seconds(5e-6)}}};
  const ir::Graph graph = Mlp(64, {64, 64});
  const ir::Mesh mesh = MeshOfCluster(hosts);
  ASSERT_NE(mesh.axis(ir::AxisId(0)).weight, mesh.axis(ir::AxisId(1)).weight);
  const GraphFacts facts = FactsOf(graph);
  const ir::OpId product = *graph.Find("h0");
  // The contracted dimension is cut: the partial sums are added over either axis.
  const auto price = [&](ir::Objective objective, ir::AxisId axis) {
    Assignment assignment(facts, mesh, PaidUnder(objective, facts, mesh, {.dataset = {}}), {});
    const ir::Strategy cut = *WithFactorCut(ir::Strategy::Replicated(facts.rule(product)), facts.rule(product), mesh,
                                            /*factor=*/1, axis, {});
    assignment.Apply(std::vector<Change>{{product, cut}});
    return assignment.cost().price;
  };
  const ir::Objective even = ir::Objective::kComputeToCommunication;
  EXPECT_GT(price(ir::Objective::kSpeed, ir::AxisId(0)), price(ir::Objective::kSpeed, ir::AxisId(1)));
  EXPECT_GT(price(even, ir::AxisId(0)), 0);
  EXPECT_NEAR(price(even, ir::AxisId(0)), price(even, ir::AxisId(1)), 1e-6);
}

TEST(ObjectivesTest, AByteKeptOutweighsTheBytesSentForIt) {
  const ir::Graph graph = Mlp(64, {256, 256, 256, 256});
  const GraphFacts facts = FactsOf(graph);
  const ir::Mesh mesh = ir::Mesh::OfDevices(4);
  const AssignmentOptions plain{.dataset = {}};
  Assignment by_memory(facts, mesh, PaidUnder(ir::Objective::kMemory, facts, mesh, plain), {});
  Assignment by_speed(facts, mesh, plain, {});
  double held = 0;
  for (const ir::Op& op : graph.ops) held += HeldBytes(facts, mesh, op.id, by_speed.strategy(op.id));
  EXPECT_NEAR(by_memory.cost().price, by_speed.cost().price + plain.tuning.sent_per_kept * held,
              1e-6 * by_memory.cost().price);
}

}  // namespace
}  // namespace cleave::search
