#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/presets.h"
#include "search/model/cluster/resolve.h"
#include "search/price/cost/cost.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/time_prices.h"
#include "search/search.h"
#include "search/solve/sapp/choices.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::LettersOf;
using testing::Mlp;

Cluster Named(const std::string& name, int64_t devices) {
  Diagnostics diagnostics;
  return ResolveCluster({.name_or_path = name, .devices = devices}, *FindPreset(name), diagnostics).value_or(Cluster{});
}

ir::Plan Found(const ir::Graph& graph, const Cluster& cluster, ir::Price price, double gradient_weight = 0.1,
               bool leave_idle = true) {
  Diagnostics diagnostics;
  const SearchOptions options{
      .price = price, .leave_idle = leave_idle, .gradient_weight = gradient_weight, .dataset = {}};
  const std::optional<ir::Plan> plan = Search(graph, cluster, {}, options, diagnostics);
  EXPECT_TRUE(plan.has_value()) << RenderText(diagnostics, SourceSet());
  return plan.value_or(ir::Plan{});
}

// Per forward product the letters of its cuts, without those of axes that are idle.
std::vector<std::string> ProductLetters(const ir::Graph& graph, const ir::Plan& plan) {
  std::vector<std::string> letters;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kMatmul || op.phase != ir::Phase::kForward) continue;
    letters.push_back(LettersOf(graph, plan.mesh, op.id, plan.ops[op.id].strategy));
  }
  return letters;
}

Seconds PredictedStep(const ir::Graph& graph, const Cluster& cluster, const ir::Plan& plan) {
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(graph, plan);
  const absl::StatusOr<ir::Program> program = ir::Partition(distributed->graph, distributed->plan);
  return Predict(*program, cluster).step;
}

TEST(TimeSearchTest, TinyModelsLeaveDevicesIdle) {
  for (const char* name : {"h100x8", "v100x8"}) {
    const Cluster cluster = Named(name, 8);
    const ir::Graph graph = Mlp(8, {16, 16, 4});
    const ir::Plan plan = Found(graph, cluster, ir::Price::kTime);
    EXPECT_EQ(ProductLetters(graph, plan), (std::vector<std::string>{"---", "---"})) << name;
    EXPECT_LT(PredictedStep(graph, cluster, plan),
              PredictedStep(graph, cluster, Found(graph, cluster, ir::Price::kBytes)));
    for (const std::string& letters : ProductLetters(graph, Found(graph, cluster, ir::Price::kTime, 0.1, false))) {
      EXPECT_EQ(letters.find('-'), std::string::npos) << "only where the user allows it: " << letters;
    }
  }
}

TEST(TimeSearchTest, LargeModelsUseAllDevices) {
  const Cluster cluster = Named("h100x8", 8);
  const ir::Graph graph = Mlp(8192, {8192, 8192, 8192, 8192});
  for (const std::string& letters : ProductLetters(graph, Found(graph, cluster, ir::Price::kTime))) {
    EXPECT_EQ(letters.find('-'), std::string::npos) << letters;
  }
}

TEST(TimeSearchTest, SlowLinksBetweenHostsCutTheBatch) {
  const Cluster cluster = Named("a100x8*2", 16);
  const ir::Graph graph = Mlp(16384, {4096, 4096, 4096, 4096});
  for (const std::string& letters : ProductLetters(graph, Found(graph, cluster, ir::Price::kTime))) {
    EXPECT_EQ(letters[0], 'i') << letters;
    EXPECT_EQ(letters.find('-'), std::string::npos) << letters;
  }
}

TEST(TimeSearchTest, CostsAreSecondsOfTheWholePlan) {
  for (const ir::Graph& graph : {testing::SeedNetwork(), Gpt({}), Mlp(6, {5, 7, 3})}) {
    for (const Cluster& cluster : {CpuCluster(6), Named("h100x8*2", 16)}) {
      const GraphFacts facts = FactsOf(graph);
      const ir::Plan plan = Found(graph, cluster, ir::Price::kTime);
      const double cost = PlanCost(facts, plan, TimePrices(facts, cluster, plan.mesh)).price;
      EXPECT_NEAR(plan.search.cost, cost, 1e-9 * cost);
      EXPECT_EQ(plan.search.price, "time");
    }
  }
}

// With gradients at their full price, the price of the search is nearly the time that the prediction counts.
TEST(TimeSearchTest, PlansAreFasterThanThoseOfBytes) {
  const Cluster cluster = Named("h100x8", 8);
  for (const ir::Graph& graph :
       {Mlp(256, {784, 512, 512, 10}), Gpt({.batch = 16, .seq = 64, .width = 256}), Mlp(4096, {1024, 4096, 1024})}) {
    const Seconds bytes = PredictedStep(graph, cluster, Found(graph, cluster, ir::Price::kBytes, 1));
    const Seconds time = PredictedStep(graph, cluster, Found(graph, cluster, ir::Price::kTime, 1));
    EXPECT_LE(time.value(), 1.02 * bytes.value());
  }
}

// By default, for a target that overlaps.
Seconds StepByDefault(const ir::Graph& graph, const Cluster& cluster, std::optional<double> gradient_weight = {},
                      ir::SearchAlgorithm algorithm = ir::SearchAlgorithm::kSapp) {
  Diagnostics diagnostics;
  const SearchOptions options{.algorithm = algorithm,
                              .price = ir::Price::kTime,
                              .gradient_weight = gradient_weight,
                              .dataset = {},
                              .execution = {.overlaps = true}};
  const std::optional<ir::Plan> plan = Search(graph, cluster, {}, options, diagnostics);
  EXPECT_TRUE(plan.has_value()) << RenderText(diagnostics, SourceSet());
  return StepOf(*ProgramOf(graph, *plan, cluster, options.execution), cluster, options.execution);
}

// How much of the reductions of gradients is hidden differs: no weight is the best one for all.
TEST(TimeSearchTest, OtherWeightsOfGradientsGiveNoFasterPlans) {
  const ir::Graph small = Gpt({.batch = 8, .seq = 512, .vocab = 8192, .width = 2048, .heads = 32, .layers = 4});
  const ir::Graph large = Gpt({.batch = 256, .seq = 512, .vocab = 8192, .width = 512, .heads = 8, .layers = 4});
  for (const auto& [graph, machines] : {std::pair(small, "h100x8"), std::pair(large, "v100x8")}) {
    const Cluster cluster = Named(machines, 8);
    const Seconds step = StepByDefault(graph, cluster);
    for (const double weight : {0.1, 0.5, 1.0}) {
      EXPECT_LE(step.value(), 1.02 * StepByDefault(graph, cluster, weight).value()) << machines << " " << weight;
    }
  }
}

TEST(TimeSearchTest, ManyDevicesAreNotMuchSlowerThanOne) {
  const ir::Graph perceptron = Mlp(64, {784, 512, 512, 10});
  const ir::Graph experts = testing::MixtureOfExperts({.layers = 2});
  for (const ir::Graph& graph : {perceptron, experts}) {
    for (const int64_t hosts : {1, 4, 32}) {
      const Cluster cluster = Named(hosts == 1 ? "h100x8" : absl::StrCat("h100x8*", hosts), 8 * hosts);
      const Seconds one = StepByDefault(graph, cluster, {}, ir::SearchAlgorithm::kReplicate);
      EXPECT_LE(StepByDefault(graph, cluster).value(), 1.5 * one.value()) << hosts;
    }
  }
}

TEST(TimeSearchTest, PlansAreNotSlowerThanDataParallelism) {
  const ir::Graph experts = testing::MixtureOfExperts({.tokens = 4096, .width = 128, .hidden = 256, .layers = 2});
  const ir::Graph wide = Gpt({.batch = 64, .seq = 256, .vocab = 8192, .width = 2048, .heads = 32, .layers = 2});
  for (const ir::Graph& graph : {experts, wide}) {
    for (const auto& [machines, devices] :
         {std::pair("h100x8", 8), std::pair("h100x8*8", 64), std::pair("v100x8*8", 64)}) {
      const Cluster cluster = Named(machines, devices);
      const Seconds baseline = StepByDefault(graph, cluster, {}, ir::SearchAlgorithm::kDataParallel);
      EXPECT_LE(StepByDefault(graph, cluster).value(), 1.01 * baseline.value()) << machines;
    }
  }
}

// Of the deeper model few layers are searched; no plan of one model is better than what the other one could have.
TEST(TimeSearchTest, TwiceTheLayersTakeTwiceTheTime) {
  const Cluster cluster = Named("h100x8*4", 32);
  const auto step_of = [&](int layers) {
    const ir::Graph graph = Gpt({.batch = 8, .seq = 1024, .vocab = 1024, .width = 768, .heads = 12, .layers = layers});
    return PredictedStep(graph, cluster, Found(graph, cluster, ir::Price::kTime));
  };
  EXPECT_LE(step_of(24).value(), 2.1 * step_of(12).value());
}

}  // namespace
}  // namespace cleave::search
