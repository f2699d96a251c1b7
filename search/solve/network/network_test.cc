#include "search/solve/network/network.h"

#include <functional>
#include <optional>
#include <random>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/moves.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// `count` strategies of `op`, each with every mesh axis on a random factor or on none.
std::vector<int> RandomDomain(Assignment& assignment, ir::OpId op, int count, std::mt19937& random) {
  const ir::Rule& rule = assignment.facts().rule(op);
  std::vector<int> domain;
  for (int i = 0; i < count; ++i) {
    ir::Strategy strategy = ir::Strategy::Replicated(rule);
    for (ir::AxisId axis : assignment.mesh().AxisIds()) {
      const std::vector<int> factors = FactorsFor(strategy, rule, assignment.mesh(), axis);
      const size_t pick = random() % (factors.size() + 1);
      if (pick < factors.size()) strategy = *Moved(strategy, rule, assignment.mesh(), factors[pick], axis);
    }
    domain.push_back(assignment.Intern(op, strategy));
  }
  return domain;
}

IdVector<ir::OpId, int> AllOfOneKind(const GraphFacts& facts) {
  return IdVector<ir::OpId, int>(facts.graph->ops.size(), 0);
}

using DomainsFor = std::function<Domains(Assignment& assignment, Network& network, std::mt19937& random)>;

// Two strategies of each op.
Domains TwoOfEach(Assignment& assignment, Network& network, std::mt19937& random) {
  Domains domains;
  for (ir::OpId op : network.variables()) {
    domains.push_back(network.Domain(op, RandomDomain(assignment, op, 2, random)));
  }
  return domains;
}

Domains AllOfEach(Assignment& assignment, Network& network, std::mt19937&) {
  Moves moves(assignment.table(), network, Freedom::Whole(assignment.table()));
  Domains domains;
  for (ir::OpId op : network.variables()) domains.push_back(moves.All(op, 0));
  return domains;
}

using PricesFor = std::function<Prices(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh)>;

// The sum of terms and the price of an assignment agree on random plans of `graph`.
void CheckAgainstAssignment(const ir::Graph& graph, int64_t devices, AssignmentOptions options, int seed,
                            const PricesFor& prices_for = nullptr, const DomainsFor& domains_for = TwoOfEach,
                            bool fixes_one = false) {
  const GraphFacts facts = FactsOf(graph);
  const Cluster cluster = CpuCluster(devices);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  if (prices_for != nullptr) options.prices = prices_for(facts, cluster, mesh);
  OpDemands demands;
  if (fixes_one) {
    const ir::OpId op = facts.set_ops[facts.set_ops.size() / 2];
    const ir::Strategy none = ir::Strategy::Replicated(facts.rule(op));
    demands[op].strategy = WithFactorCut(none, facts.rule(op), mesh, 0, mesh.AxisIds().front(), {});
  }
  Assignment assignment(facts, mesh, options, demands);
  Network network(assignment.table(), demands, options, {.entries = 1 << 20});
  std::mt19937 random(static_cast<unsigned>(seed));
  const Domains domains = domains_for(assignment, network, random);
  const MinSum problem = network.Problem(domains);
  ASSERT_EQ(VerifyMinSum(problem), std::vector<std::string>{});
  EXPECT_TRUE(network.is_exact());
  for (int trial = 0; trial < 5; ++trial) {
    std::vector<int> values;
    for (const int size : problem.domains) values.push_back(static_cast<int>(random() % static_cast<size_t>(size)));
    assignment.Apply(network.Changes(domains, values));
    const Cost& cost = assignment.cost();
    const double tied = cost.price + Network::kCollective * network.unit() * cost.collectives;
    const double idle = Network::kIdleAxis * network.unit() * static_cast<double>(domains.size()) * 4;
    EXPECT_NEAR(static_cast<double>(CostOf(problem, values)) * network.unit(), tied, 1e-9 * cost.price + idle)
        << "devices " << devices << " seed " << seed << " trial " << trial;
  }
}

TEST(NetworkTest, TermsSumUpToThePriceOfThePlan) {
  const std::vector<ir::Graph> graphs = {testing::SeedNetwork(), testing::Gpt({}), testing::Mlp(6, {5, 7, 3})};
  for (const ir::Graph& graph : graphs) {
    for (const int64_t devices : {2, 4, 6}) {
      for (int seed = 0; seed < 3; ++seed) {
        CheckAgainstAssignment(graph, devices, {.gradient_weight = 0.1, .dataset = {}}, seed);
        CheckAgainstAssignment(graph, devices, {.gradient_weight = 1, .dataset = ir::DatasetLayout::kDataParallel},
                               seed);
      }
    }
  }
}

TEST(NetworkTest, TermsCountWhatOpsCostByThemselves) {
  const PricesFor time = [](const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh) {
    return TimePrices(facts, cluster, mesh);
  };
  const PricesFor memory = [](const GraphFacts& facts, const Cluster&, const ir::Mesh& mesh) {
    return WithMemoryWeight(facts, mesh, 3, {});
  };
  const PricesFor both = [](const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh) {
    return WithMemoryWeight(facts, mesh, 1e-9, TimePrices(facts, cluster, mesh));
  };
  for (const ir::Graph& graph : {testing::SeedNetwork(), testing::Gpt({}), testing::Mlp(6, {5, 7, 3})}) {
    for (const int64_t devices : {2, 6}) {
      for (const PricesFor& prices_for : {time, memory, both}) {
        CheckAgainstAssignment(graph, devices, {.gradient_weight = 0.1, .dataset = {}}, 1, prices_for);
      }
    }
  }
}

// Choices that differ only in the names of equal axes are priced once.
TEST(NetworkTest, EqualChoicesHaveThePriceOfThePlan) {
  for (const ir::Graph& graph : {testing::SeedNetwork(), testing::Mlp(6, {5, 7, 3}), testing::Mlp(8, {8, 16, 8})}) {
    for (const int64_t devices : {4, 8}) {
      for (int seed = 0; seed < 5; ++seed) {
        CheckAgainstAssignment(graph, devices, {.gradient_weight = 0.1}, seed, nullptr, AllOfEach);
        CheckAgainstAssignment(graph, devices, {.gradient_weight = 0.1}, seed, nullptr, AllOfEach, /*fixes_one=*/true);
      }
      CheckAgainstAssignment(graph, devices, {.dataset = ir::DatasetLayout::kDataParallel}, 1, nullptr, AllOfEach);
    }
  }
}

// When the layers of a deep model are decided in the same way, one variable and one table for all of them give the same
// price.
TEST(NetworkTest, AFoldedNetworkHasThePriceOfThePlan) {
  const ir::Graph graph = testing::Gpt({.layers = 12});
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(4), {.dataset = {}}, {});
  const Network::Options options{.entries = 1 << 20,
                                 .folding = FoldOps(assignment.table(), {}, AllOfOneKind(facts), {})};
  Network folded(assignment.table(), {}, assignment.options(), options);
  const Network whole(assignment.table(), {}, assignment.options(), {});
  EXPECT_LT(2 * folded.variables().size(), whole.variables().size());
  std::mt19937 random(1);
  Domains domains;
  for (ir::OpId op : folded.variables()) domains.push_back(folded.Domain(op, RandomDomain(assignment, op, 1, random)));
  const std::vector<int> values(domains.size(), 0);
  assignment.Apply(folded.Changes(domains, values));
  const Cost& cost = assignment.cost();
  const double tied = cost.price + Network::kCollective * folded.unit() * cost.collectives;
  const double idle = Network::kIdleAxis * folded.unit() * static_cast<double>(whole.variables().size()) * 2;
  EXPECT_NEAR(static_cast<double>(CostOf(folded.Problem(domains), values)) * folded.unit(), tied,
              1e-9 * cost.price + idle);
}

// Also where terms are split, as those of the transformer are: its best cost is then not that of a plan.
TEST(NetworkTest, TheProblemBelowACostHasTheSameBestPlan) {
  size_t left_out = 0;
  for (const ir::Graph& graph : {testing::SeedNetwork(), testing::Gpt({}), testing::Mlp(6, {5, 7, 3})}) {
    const GraphFacts facts = FactsOf(graph);
    const Cluster cluster = CpuCluster(4);
    const ir::Mesh mesh = MeshOfCluster(cluster);
    Assignment assignment(facts, mesh, {.prices = TimePrices(facts, cluster, mesh)}, {});
    Network network(assignment.table(), {}, assignment.options(), {});
    std::mt19937 random(7);
    Domains domains;
    for (ir::OpId op : network.variables()) {
      domains.push_back(network.Domain(op, RandomDomain(assignment, op, 5, random)));
    }
    const MinSum problem = network.Problem(domains);
    const bool is_exact = network.is_exact();
    const int64_t best = Eliminate(problem, {})->cost;
    const std::optional<Network::Narrow> narrow = network.ProblemBelow(domains, best + 1);
    ASSERT_TRUE(narrow.has_value());
    ASSERT_EQ(VerifyMinSum(narrow->problem), std::vector<std::string>{});
    ASSERT_EQ(network.is_exact(), is_exact);
    const Solution found = *Eliminate(narrow->problem, {});
    EXPECT_EQ(found.cost, best);
    Domains chosen;
    for (size_t v = 0; v < domains.size(); ++v) {
      const int strategy = network.domain(narrow->domains[v])[static_cast<size_t>(found.values[v])];
      chosen.push_back(network.Domain(network.variables()[v], {strategy}));
    }
    const int64_t price = CostOf(network.Problem(chosen), std::vector<int>(domains.size(), 0));
    EXPECT_TRUE(price == best || !is_exact);
    for (size_t v = 0; v < domains.size(); ++v) {
      left_out += network.domain(domains[v]).size() - network.domain(narrow->domains[v]).size();
    }
    const std::optional<Network::Narrow> nothing = network.ProblemBelow(domains, best);
    EXPECT_TRUE(!nothing.has_value() || Eliminate(nothing->problem, {})->cost >= best);
  }
  EXPECT_GT(left_out, 20u);
}

TEST(FoldingTest, MiddleLayersAreAlikeAndDemandedOpsAreLikeNoOther) {
  const ir::Graph graph = testing::Gpt({.layers = 12});
  const GraphFacts facts = FactsOf(graph);
  StrategyTable table(facts, ir::Mesh::OfDevices(2));
  const ir::OpId first = *graph.Find("x.5.up"), second = *graph.Find("x.6.up");
  const Folding alike = FoldOps(table, {}, AllOfOneKind(facts), {});
  EXPECT_EQ(alike.variables[first], alike.variables[second]);
  EXPECT_NE(alike.variables[*graph.Find("x.5.middle")], alike.variables[*graph.Find("x.0.middle")]);
  const Folding demanded =
      FoldOps(table, {{first, {.strategy = ir::Strategy::Replicated(facts.rule(first))}}}, AllOfOneKind(facts), {});
  for (const ir::Op& op : graph.ops) {
    if (op.id == first) continue;
    EXPECT_NE(demanded.variables[first], demanded.variables[op.id]) << op.name;
  }
}

// One op that may do something else does not keep the layers far from it from sharing their variables.
TEST(FoldingTest, AnOpOfAnotherKindSplitsOnlyTheLayersNearIt) {
  const ir::Graph graph = testing::Gpt({.layers = 12});
  const GraphFacts facts = FactsOf(graph);
  StrategyTable table(facts, ir::Mesh::OfDevices(2));
  IdVector<ir::OpId, int> kinds = AllOfOneKind(facts);
  const ir::OpId other = *graph.Find("x.5.up");
  kinds[other] = 1;
  const Folding folding = FoldOps(table, {}, kinds, {});
  for (const ir::Op& op : graph.ops) {
    if (op.id == other) continue;
    EXPECT_NE(folding.variables[other], folding.variables[op.id]) << op.name;
  }
  EXPECT_EQ(folding.variables[*graph.Find("x.8.up")], folding.variables[*graph.Find("x.9.up")]);
}

}  // namespace
}  // namespace cleave::search
