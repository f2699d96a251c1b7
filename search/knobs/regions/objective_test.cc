// Compares the plan that a search finds under each objective with all possible plans. CLEAVE_TEST_SEED sets another
// seed.
#include "search/knobs/regions/objective.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/text.h"
#include "ir/testing/seed.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/regions/measure.h"
#include "search/model/cluster/cluster.h"
#include "search/oracle/oracle.h"
#include "search/search.h"
#include "search/solve/exact/exact.h"
#include "search/solve/sapp/freedom.h"
#include "search/solve/sapp/sapp.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::RandomSmallGraph;

constexpr std::array<ir::Objective, 3> kObjectives = {ir::Objective::kSpeed, ir::Objective::kMemory,
                                                      ir::Objective::kComputeToCommunication};

ir::Plan Found(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins, const SearchOptions& options) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(graph, cluster, pins, options, diagnostics);
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(ir::Plan{});
}

// Enough to compare all plans of the smallest graphs.
constexpr SearchTuning kThorough = {.measured_ops = 400000};

double QuantityOf(ir::Objective objective, const Measured& measured) {
  switch (objective) {
    case ir::Objective::kSpeed:
      return measured.step.value();
    case ir::Objective::kMemory:
      return static_cast<double>(measured.peak.value());
    case ir::Objective::kComputeToCommunication:
      return measured.sent_bytes;
  }
  return 0;
}

double QuantityOf(ir::Objective objective, const ir::Graph& graph, const ir::Plan& plan, const Cluster& cluster) {
  return QuantityOf(objective, Measure(graph, plan, cluster, {}));
}

// Measures all plans of a small graph in which products use every axis.
class AllPlans {
 public:
  AllPlans(const ir::Graph& graph, const Cluster& cluster, std::optional<ir::DatasetLayout> dataset)
      : graph_(graph),
        cluster_(cluster),
        facts_(FactsOf(graph)),
        assignment_(facts_, MeshOfCluster(cluster), {.dataset = dataset}, {}) {}

  double Least(ir::Objective objective) {
    least_ = std::numeric_limits<double>::infinity();
    Descend(0, objective);
    return least_;
  }

 private:
  void Descend(size_t depth, ir::Objective objective) {
    if (depth < facts_.set_ops.size()) {
      const ir::OpId op = facts_.set_ops[depth];
      const bool is_product = facts_.roles[op] == Role::kProduct;
      for (const ir::Strategy& strategy : AllStrategies(facts_.rule(op), assignment_.mesh(), is_product)) {
        assignment_.Apply(std::vector<Change>{{op, strategy}});
        Descend(depth + 1, objective);
      }
      return;
    }
    if (assignment_.cost().impossible > 0) return;
    ir::Plan plan{.cluster = cluster_.name, .mesh = assignment_.mesh(), .ops = {}, .search = {}};
    for (const ir::Op& op : graph_.ops) plan.ops.push_back({.strategy = assignment_.strategy(op.id), .output = {}});
    least_ = std::min(least_, QuantityOf(objective, graph_, plan, cluster_));
  }

  const ir::Graph& graph_;
  const Cluster& cluster_;
  const GraphFacts facts_;
  Assignment assignment_;
  double least_ = 0;
};

// All ops of the model in `count` regions, in program order.
ir::Pins InRegions(const ir::Graph& graph, size_t count, ir::Objective objective) {
  const GraphFacts facts = FactsOf(graph);
  ir::Pins pins;
  for (size_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::ptrdiff_t>(facts.set_ops.size());
    const auto begin =
        facts.set_ops.begin() + size * static_cast<std::ptrdiff_t>(i) / static_cast<std::ptrdiff_t>(count);
    const auto end =
        facts.set_ops.begin() + size * static_cast<std::ptrdiff_t>(i + 1) / static_cast<std::ptrdiff_t>(count);
    pins.regions.push_back({.name = absl::StrCat("r", i), .ops = {begin, end}, .objective = objective, .span = {}});
  }
  return pins;
}

class ObjectiveTest : public ::testing::TestWithParam<ir::Objective> {};

TEST_P(ObjectiveTest, NoPlanOfASmallGraphIsBetter) {
  const ir::Objective objective = GetParam();
  for (uint64_t seed = ir::TestSeed(); seed < ir::TestSeed() + 15; ++seed) {
    const ir::Graph graph = RandomSmallGraph(seed, {.most_products = 3, .most_light_ops = 1});
    const Cluster cluster = CpuCluster(2 + static_cast<int64_t>(seed % 2));
    for (const size_t regions : {1, 2}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", regions, " regions"));
      const ir::Plan plan =
          Found(graph, cluster, InRegions(graph, regions, objective), {.dataset = {}, .tuning = kThorough});
      const double least = AllPlans(graph, cluster, ir::DatasetLayout::kFullBatch).Least(objective);
      EXPECT_LE(QuantityOf(objective, graph, plan, cluster), least * (1 + 1e-9)) << ir::GraphText(graph);
    }
    if (objective == ir::Objective::kSpeed) continue;
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", no regions"));
    const ir::Plan plan = Found(graph, cluster, {}, {.objective = objective, .dataset = {}, .tuning = kThorough});
    const double least = AllPlans(graph, cluster, std::nullopt).Least(objective);
    EXPECT_LE(QuantityOf(objective, graph, plan, cluster), least * (1 + 1e-9)) << ir::GraphText(graph);
  }
}

TEST_P(ObjectiveTest, ExactFindsTheBestPrice) {
  constexpr uint64_t kGraphs = 40;
  const ir::Objective objective = GetParam();
  uint64_t best_of_sapp = 0;
  for (uint64_t seed = ir::TestSeed(); seed < ir::TestSeed() + kGraphs; ++seed) {
    const ir::Graph graph = RandomSmallGraph(seed, {.most_products = 2, .most_light_ops = 1});
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", ir::GraphText(graph)));
    const GraphFacts facts = FactsOf(graph);
    const ir::Mesh mesh = MeshOfCluster(CpuCluster(2 + static_cast<int64_t>(seed % 2)));
    Assignment assignment(facts, mesh, PaidUnder(objective, facts, mesh, {.dataset = {}}), {});
    // The memory that ops keep is not settled stage by stage, so all plans are priced.
    const std::optional<BestPlan> best = TryAllPlans(assignment, {.prune = objective != ir::Objective::kMemory});
    ASSERT_TRUE(best.has_value());
    const double rounding = 1e-6 * (1 + best->cost.price);
    Sapp(assignment);
    const double sapp = assignment.cost().price;
    EXPECT_GE(sapp, best->cost.price - rounding) << "no plan is better than the best";
    if (sapp <= best->cost.price + rounding) ++best_of_sapp;
    FindBest(assignment, Freedom::Whole(assignment.table()));
    EXPECT_NEAR(assignment.cost().price, best->cost.price, rounding);
  }
  EXPECT_GE(best_of_sapp, kGraphs * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Objectives, ObjectiveTest, ::testing::ValuesIn(kObjectives),
                         [](const auto& test) { return std::string(ObjectiveName(test.param)); });

// One transformer block on 4 devices, as one region. docs/search.md shows these numbers.
TEST(ObjectivesTest, ATransformerBlockUnderEachObjective) {
  const ir::Graph graph = Gpt({.batch = 8, .layers = 1});
  const Cluster cluster = CpuCluster(4);
  std::map<ir::Objective, ir::Plan> plans;
  for (ir::Objective objective : kObjectives) {
    plans[objective] = Found(graph, cluster, InRegions(graph, 1, objective), {.dataset = {}});
    EXPECT_EQ(plans[objective].search.objective, ObjectiveName(objective));
  }
  // Per measure, the values of the plans for speed, memory and compute_to_communication.
  const std::map<ir::Objective, std::array<double, 3>> expected = {
      {ir::Objective::kSpeed, {387.986723e-6, 438.682332e-6, 398.354268e-6}},
      {ir::Objective::kMemory, {1108288, 860096, 1041472}},
      {ir::Objective::kComputeToCommunication, {295942, 503944, 280326}}};
  for (const auto& [measure, numbers] : expected) {
    for (size_t i = 0; i < kObjectives.size(); ++i) {
      const double measured = QuantityOf(measure, graph, plans[kObjectives[i]], cluster);
      EXPECT_NEAR(measured, numbers[i], 2e-4 * numbers[i])
          << "measured by " << ObjectiveName(measure) << ", the plan for " << ObjectiveName(kObjectives[i]);
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
