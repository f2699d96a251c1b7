#include "search/solve/sapp/descent.h"

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "search/oracle/oracle.h"
#include "search/solve/baselines/baselines.h"
#include "search/solve/sapp/starts.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

constexpr int64_t kWork = 100000;

Network WholeNetwork(Assignment& assignment) {
  return Network(assignment.table(), assignment.demands(), assignment.options(),
                 {.entries = assignment.options().tuning.small_term_entries});
}

// The cost that `descent` gives for its plan must be that of the plan, plus the units that break ties between plans of
// one price.
void ExpectTrueCost(const Descent& descent, const Network& network, Assignment& assignment) {
  assignment.Apply(descent.Changes());
  const Cost& cost = assignment.cost();
  EXPECT_EQ(cost.impossible, 0);
  const double ties = network.unit() * (Network::kCollective * cost.collectives);
  const double idle = network.unit() * Network::kIdleAxis * static_cast<double>(network.variables().size()) *
                      assignment.mesh().axis_count();
  EXPECT_NEAR(static_cast<double>(descent.cost()) * network.unit(), cost.price + ties, 1e-9 * cost.price + idle);
}

std::vector<ir::Graph> SomeGraphs() {
  std::vector<ir::Graph> graphs = {testing::SeedNetwork(), testing::Gpt({.layers = 1})};
  for (uint64_t seed = 1; seed <= 10; ++seed) graphs.push_back(testing::RandomSmallGraph(seed));
  return graphs;
}

TEST(DescentTest, NeverEndsAboveItsStart) {
  const std::vector<std::function<void(Assignment&)>> starts = {
      DataParallel, [](Assignment& assignment) { StartUniform(assignment, 0); }};
  int improved = 0;
  for (const ir::Graph& graph : SomeGraphs()) {
    const GraphFacts facts = FactsOf(graph);
    for (const int64_t devices : {2, 4, 6}) {
      for (size_t start = 0; start < starts.size(); ++start) {
        SCOPED_TRACE(std::to_string(devices) + " devices, start " + std::to_string(start));
        Assignment assignment(facts, ir::Mesh::OfDevices(devices), {.dataset = {}}, {});
        starts[start](assignment);
        const Cost before = assignment.cost();
        Network network = WholeNetwork(assignment);
        Descent descent(assignment, network, Freedom::Whole(assignment.table()), kWork);
        const int64_t begin = descent.cost();
        const bool is_better = descent.Refine();
        EXPECT_EQ(is_better, descent.cost() < begin);
        EXPECT_LE(descent.cost(), begin);
        EXPECT_EQ(assignment.cost(), before) << "a descent does not change the assignment";
        ExpectTrueCost(descent, network, assignment);
        EXPECT_FALSE(Cheaper(before, assignment.cost()));
        if (is_better) ++improved;
      }
    }
  }
  EXPECT_GT(improved, 20);
}

TEST(DescentTest, WithoutWorkNothingMoves) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(8), {.dataset = {}}, {});
  DataParallel(assignment);
  Network network = WholeNetwork(assignment);
  Descent descent(assignment, network, Freedom::Whole(assignment.table()), /*work=*/0);
  EXPECT_FALSE(descent.Refine());
  for (const IndexedChange& change : descent.Changes()) {
    EXPECT_EQ(change.strategy, assignment.index(change.op)) << facts.op(change.op).name;
  }
}

TEST(DescentTest, GreedyGivesEveryAxisToEveryProduct) {
  for (const ir::Graph& graph : SomeGraphs()) {
    const GraphFacts facts = FactsOf(graph);
    Assignment assignment(facts, ir::Mesh::OfDevices(6), {.dataset = {}}, {});
    Network network = WholeNetwork(assignment);
    Descent descent(assignment, network, Freedom::Whole(assignment.table()), kWork);
    descent.Greedy(assignment.mesh().AxisIds());
    EXPECT_TRUE(descent.UseRequired());
    ExpectTrueCost(descent, network, assignment);
  }
}

// docs/cost.md has the price of the best plan.
TEST(DescentTest, FreeStepFindsTheBestPlanOfTheSeedNetwork) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(8), {.gradient_weight = 0.1, .dataset = {}}, {});
  Network network = WholeNetwork(assignment);
  Descent descent(assignment, network, Freedom::Whole(assignment.table()), kWork);
  descent.Greedy(assignment.mesh().AxisIds());
  descent.RefineFreely();
  assignment.Apply(descent.Changes());
  EXPECT_NEAR(assignment.cost().price, 298547.2, 0.1);
}

TEST(DescentTest, FreeStepFindsTheBestPlanOfSmallGraphs) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Graph graph = testing::RandomSmallGraph(seed, {.most_products = 3, .most_light_ops = 2});
    const GraphFacts facts = FactsOf(graph);
    Assignment assignment(facts, ir::Mesh::OfDevices(4), {.dataset = {}}, {});
    const std::optional<BestPlan> best = TryAllPlans(assignment, {});
    ASSERT_TRUE(best.has_value());
    Network network = WholeNetwork(assignment);
    Descent descent(assignment, network, Freedom::Whole(assignment.table()), kWork);
    descent.Greedy(assignment.mesh().AxisIds());
    descent.RefineFreely();
    assignment.Apply(descent.Changes());
    EXPECT_NEAR(assignment.cost().price, best->cost.price, 1e-9 * best->cost.price);
  }
}

}  // namespace
}  // namespace cleave::search
