// Tests how far the searches are from the best plan, on small random graphs where it is known. CLEAVE_TEST_SEED sets
// another seed.
#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/text.h"
#include "ir/testing/seed.h"
#include "search/model/cluster/cluster.h"
#include "search/oracle/oracle.h"
#include "search/search.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/choices.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

using testing::RandomSmallGraph;

constexpr uint64_t kGraphs = 300;
// Of beginnings of plans. A few graphs have so many plans that all of them would take minutes; these are left out.
constexpr int64_t kMostTried = 200000;

struct Expectation {
  ir::SearchAlgorithm algorithm;
  double usually;  // In `share` of the graphs the cost is at most this many times the best one,
  double share;
  double always;  // and in all graphs this many times.
};

struct Sample {
  uint64_t seed = 0;
  ir::Graph graph;
  Cluster cluster;
  double gradient_weight = 0;
};

Cluster OneHost(int64_t devices) {
  return {.name = "host",
          .links = {{.name = "host", .count = devices, .bytes_per_second = 1e10, .latency = Seconds(5e-6)}}};
}

// A byte between hosts is ten times as expensive.
Cluster Hosts(int64_t hosts, int64_t devices) {
  return {.name = "hosts",
          .links = {{.name = "network", .count = hosts, .bytes_per_second = 1e9, .latency = Seconds(1e-5)},
                    {.name = "host", .count = devices, .bytes_per_second = 1e10, .latency = Seconds(5e-6)}}};
}

Sample SampleOf(uint64_t seed) {
  const Cluster clusters[] = {OneHost(2),  OneHost(3),  OneHost(4), OneHost(5),  OneHost(6),
                              Hosts(2, 2), Hosts(2, 3), OneHost(4), Hosts(3, 2), OneHost(8)};
  const double gradient_weights[] = {0.1, 0.25, 1};
  const Cluster& cluster = clusters[seed % std::size(clusters)];
  const bool large = cluster.devices() > 6;
  return {.seed = seed,
          .graph = large ? RandomSmallGraph(seed, {.most_products = 2, .most_light_ops = 2}) : RandomSmallGraph(seed),
          .cluster = cluster,
          .gradient_weight = gradient_weights[seed / std::size(clusters) % std::size(gradient_weights)]};
}

// Cost, strategies and mesh of the best plan; nullopt where there are too many plans.
std::optional<ir::Plan> Best(const Sample& sample) {
  const GraphFacts facts = FactsOf(sample.graph);
  Assignment assignment(facts, MeshOfCluster(sample.cluster),
                        {.gradient_weight = sample.gradient_weight, .dataset = {}}, {});
  const std::optional<BestPlan> best = TryAllPlans(assignment, {.most_tried = kMostTried});
  if (!best.has_value()) return std::nullopt;
  assignment.Apply(best->strategies);
  ir::Plan plan;
  plan.mesh = assignment.mesh();
  plan.search.cost = best->cost.price;
  for (const ir::Op& op : sample.graph.ops) plan.ops.push_back({.strategy = assignment.strategy(op.id), .output = {}});
  return plan;
}

// How the ops that a search sets are cut.
std::string Text(const ir::Graph& graph, const ir::Plan& plan) {
  const GraphFacts facts = FactsOf(graph);
  std::string text = absl::StrCat("cost ", plan.search.cost, " on ", plan.mesh.ToString(), "\n");
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kProduct && facts.roles[op.id] != Role::kLight) continue;
    absl::StrAppend(&text, "  ", op.name, " ", facts.rule(op.id).ToString(), ": ",
                    CutsText(plan.ops[op.id].strategy, facts.rule(op.id), plan.mesh), "\n");
  }
  return text;
}

std::optional<ir::Plan> Found(const Sample& sample, ir::SearchAlgorithm algorithm) {
  Diagnostics diagnostics;
  return Search(sample.graph, sample.cluster, {},
                {.algorithm = algorithm, .gradient_weight = sample.gradient_weight, .dataset = {}}, diagnostics);
}

struct Comparison {
  double ratio = 1;  // Of the cost found to the best one.
  uint64_t seed = 0;
};

// `best`: the cost of the best plan.
Comparison Compare(const Sample& sample, double best, ir::SearchAlgorithm algorithm) {
  const uint64_t seed = sample.seed;
  const std::optional<ir::Plan> plan = Found(sample, algorithm);
  EXPECT_TRUE(plan.has_value()) << "seed " << seed;
  if (!plan.has_value()) return {.ratio = std::numeric_limits<double>::infinity(), .seed = seed};
  const double found = plan->search.cost;
  // Costs are bytes and fractions of them: a smaller difference is rounding.
  const double rounding = 1e-6 * (1 + best);
  EXPECT_GE(found, best - rounding) << "no plan costs less than the best one: seed " << seed << "\n"
                                    << Text(sample.graph, *plan) << ir::GraphText(sample.graph);
  if (found <= best + rounding) return {.ratio = 1, .seed = seed};
  if (best <= rounding) return {.ratio = std::numeric_limits<double>::infinity(), .seed = seed};
  return {.ratio = found / best, .seed = seed};
}

void Print(const Expectation& expected, const std::vector<Comparison>& worst_first) {
  std::cout << AlgorithmName(expected.algorithm) << ", " << worst_first.size() << " graphs:";
  for (const double limit : {1.0, 1.01, 1.05, 1.1, 1.5, 2.0}) {
    const auto within = std::count_if(worst_first.begin(), worst_first.end(),
                                      [&](const Comparison& result) { return result.ratio <= limit; });
    std::cout << " " << within << " within " << limit << ";";
  }
  std::cout << " worst:";
  for (size_t i = 0; i < 10; ++i) std::cout << " " << worst_first[i].ratio << " (seed " << worst_first[i].seed << ")";
  std::cout << std::endl;
}

// The two plans of one graph.
std::string PlansOf(uint64_t seed, ir::SearchAlgorithm algorithm) {
  const Sample sample = SampleOf(seed);
  const std::optional<ir::Plan> found = Found(sample, algorithm);
  return absl::StrCat("seed ", seed, "\nfound: ", found.has_value() ? Text(sample.graph, *found) : "nothing\n",
                      "best: ", Text(sample.graph, *Best(sample)), ir::GraphText(sample.graph));
}

constexpr Expectation kExpectations[] = {
    {.algorithm = ir::SearchAlgorithm::kSapp, .usually = 1.01, .share = 0.95, .always = 1.05},
    {.algorithm = ir::SearchAlgorithm::kExact, .usually = 1, .share = 1, .always = 1},
};

TEST(BruteForceTest, SearchesAreCloseToTheBestPlan) {
  std::vector<Comparison> results[std::size(kExpectations)];
  const uint64_t first = ir::TestSeed();
  for (uint64_t seed = first; seed < first + kGraphs; ++seed) {
    const Sample sample = SampleOf(seed);
    const std::optional<ir::Plan> best = Best(sample);
    if (!best.has_value()) continue;
    for (size_t i = 0; i < std::size(kExpectations); ++i) {
      results[i].push_back(Compare(sample, best->search.cost, kExpectations[i].algorithm));
    }
  }
  for (size_t i = 0; i < std::size(kExpectations); ++i) {
    const Expectation& expected = kExpectations[i];
    ASSERT_GE(results[i].size(), kGraphs * 95 / 100);
    std::stable_sort(results[i].begin(), results[i].end(),
                     [](const Comparison& a, const Comparison& b) { return a.ratio > b.ratio; });
    Print(expected, results[i]);
    const auto usual = std::count_if(results[i].begin(), results[i].end(),
                                     [&](const Comparison& result) { return result.ratio <= expected.usually; });
    EXPECT_GE(static_cast<double>(usual), expected.share * static_cast<double>(results[i].size()));
    EXPECT_LE(results[i][0].ratio, expected.always) << PlansOf(results[i][0].seed, expected.algorithm);
  }
}

}  // namespace
}  // namespace cleave::search
