#include "search/explain/what_if.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/cost.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/sapp/alternatives.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/sapp.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Mesh TwoLinks(double fast) {
  return *ir::Mesh::Create({{.name = "m0", .size = 2, .link = "network", .weight = 1},
                            {.name = "m1", .size = 2, .link = "host", .weight = fast}});
}

struct Fixture {
  Fixture(ir::Graph model, ir::Mesh on, double gradient_weight)
      : graph(std::move(model)),
        facts(FactsOf(graph)),
        bundles(FindBundles(facts)),
        mesh(std::move(on)),
        weight(gradient_weight),
        assignment(facts, mesh, {.gradient_weight = gradient_weight, .dataset = {}}, {}) {
    std::vector<Change> changes;
    for (int layer = 0; layer < 3; ++layer) {
      const ir::OpId product = *graph.Find("h" + std::to_string(layer));
      changes.push_back({product, testing::Letters(graph, mesh, product, std::string(mesh.axis_count(), 'i'))});
    }
    assignment.Apply(changes);
  }

  double CostOf(const std::vector<Change>& changes, const ir::Mesh& on, double gradient_weight) {
    const int mark = assignment.mark();
    assignment.Apply(changes);
    ir::Plan plan;
    plan.mesh = on;
    plan.gradient_weight = gradient_weight;
    for (const ir::Op& op : graph.ops) {
      ir::OpPlan planned;
      planned.strategy = assignment.strategy(op.id);
      plan.ops.push_back(planned);
    }
    assignment.Rollback(mark);
    return PlanCost(FactsOf(graph), plan).price;
  }

  ir::Graph graph;
  GraphFacts facts;
  Bundles bundles;
  ir::Mesh mesh;
  double weight;
  Assignment assignment;
};

// The difference that is computed from the differing values must be that of the whole plans, also for other weights and
// links.
TEST(WhatIfTest, TheDifferenceIsThatOfTheWholePlans) {
  Fixture fixture(testing::SeedNetwork(), TwoLinks(0.25), 0.1);
  int looked_at = 0;
  for (const Alternative& other :
       Alternatives(fixture.assignment, fixture.bundles).OthersFor(*fixture.graph.Find("h1"))) {
    const WhatIf what_if(fixture.assignment, other.changes);
    for (double weight : {0.0, 0.1, 1.0}) {
      for (double fast : {0.05, 0.25, 1.0}) {
        const ir::Mesh mesh = TwoLinks(fast);
        const double whole = fixture.CostOf(other.changes, mesh, weight) - fixture.CostOf({}, mesh, weight);
        EXPECT_NEAR(what_if.Difference({mesh}, weight), whole, 1e-6 * fixture.CostOf({}, mesh, weight) + 1e-6);
        ++looked_at;
      }
    }
  }
  EXPECT_GE(looked_at, 9);
}

// Every condition must be true: the test tries the number in it.
TEST(WhatIfTest, ConditionsAreTrue) {
  int conditions = 0;
  for (double weight : {0.01, 0.1, 1.0}) {
    Fixture fixture(testing::SeedNetwork(), TwoLinks(0.25), weight);
    for (const char* name : {"h0", "h1", "h2"}) {
      for (const Alternative& other :
           Alternatives(fixture.assignment, fixture.bundles).OthersFor(*fixture.graph.Find(name))) {
        const WhatIf what_if(fixture.assignment, other.changes);
        for (const std::string& text : what_if.Conditions()) {
          ++conditions;
          EXPECT_GT(what_if.Difference({fixture.mesh}, weight), 0) << text;
          double number = 0;
          for (absl::string_view word : absl::StrSplit(text, ' ')) {
            if (number == 0 && !absl::StartsWith(word, "`")) (void)absl::SimpleAtod(word, &number);
          }
          ASSERT_GT(number, 0) << text;
          if (absl::StrContains(text, "gradient_weight")) {
            const double beyond = absl::StrContains(text, "above") ? 1.001 : 0.999;
            EXPECT_LT(what_if.Difference({fixture.mesh}, number * beyond), 0) << text;
          } else {
            const double times = absl::StrContains(text, "slow") ? number : 1 / number;
            const bool is_host = absl::StrContains(text, "`host`");
            const ir::Mesh mesh =
                *ir::Mesh::Create({{.name = "m0", .size = 2, .link = "network", .weight = is_host ? 1 : times},
                                   {.name = "m1", .size = 2, .link = "host", .weight = is_host ? 0.25 * times : 0.25}});
            EXPECT_LT(what_if.Difference({mesh}, weight), 0) << text;
          }
        }
      }
    }
  }
  EXPECT_GT(conditions, 5);
}

Cluster TwoHosts(double network, double host = 1e10) {
  return {.name = "hosts",
          .links = {{.name = "network", .count = 2, .bytes_per_second = network, .latency = Seconds(1e-5)},
                    {.name = "host", .count = 2, .bytes_per_second = host, .latency = Seconds(2e-6)}},
          .peak = {.f32 = 1e11},
          .memory_bytes_per_second = 1e10};
}

// Under the price `time` ops cost something by themselves, whatever the speed of the links is.
TEST(WhatIfTest, InSecondsToo) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  const Bundles bundles = FindBundles(facts);
  const Cluster cluster = TwoHosts(1e9);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  Assignment assignment(facts, mesh, {.gradient_weight = 1, .dataset = {}, .prices = TimePrices(facts, cluster, mesh)},
                        {});
  Sapp(assignment);
  const auto cost = [&](const std::vector<Change>& changes, const Cluster& on) {
    const int mark = assignment.mark();
    assignment.Apply(changes);
    ir::Plan plan{.mesh = MeshOfCluster(on), .ops = {}, .gradient_weight = 1, .search = {}};
    for (const ir::Op& op : graph.ops) plan.ops.push_back({.strategy = assignment.strategy(op.id)});
    assignment.Rollback(mark);
    return PlanCost(facts, plan, TimePrices(facts, on, plan.mesh)).price;
  };
  int conditions = 0;
  for (const char* name : {"h0", "h1", "h2"}) {
    for (const Alternative& other : Alternatives(assignment, bundles).OthersFor(*graph.Find(name))) {
      const WhatIf what_if(assignment, other.changes, cluster);
      for (double network : {2e8, 1e9, 5e9}) {
        const Cluster on = TwoHosts(network);
        const double whole = cost(other.changes, on) - cost({}, on);
        EXPECT_NEAR(what_if.Difference({MeshOfCluster(on), on}, 1), whole, 1e-9 * cost({}, on));
      }
      for (const std::string& text : what_if.Conditions()) {
        if (!absl::StrContains(text, "link")) continue;
        double times = 0;
        for (absl::string_view word : absl::StrSplit(text, ' ')) {
          if (times == 0) (void)absl::SimpleAtod(word, &times);
        }
        if (absl::StrContains(text, "slow")) times = 1 / times;
        const bool is_host = absl::StrContains(text, "`host`");
        const Cluster on = TwoHosts(is_host ? 1e9 : 1e9 * times, is_host ? 1e10 * times : 1e10);
        EXPECT_LT(cost(other.changes, on), cost({}, on)) << text;
        ++conditions;
      }
    }
  }
  EXPECT_GT(conditions, 1);
}

TEST(WhatIfTest, OnOneKindOfLinkItsSpeedChangesNothing) {
  Fixture fixture(testing::SeedNetwork(), ir::Mesh::OfDevices(4), 0.1);
  for (const Alternative& other :
       Alternatives(fixture.assignment, fixture.bundles).OthersFor(*fixture.graph.Find("h1"))) {
    for (const std::string& text : WhatIf(fixture.assignment, other.changes).Conditions()) {
      EXPECT_FALSE(absl::StrContains(text, "link")) << text;
    }
  }
}

}  // namespace
}  // namespace cleave::search
