// The times of the ops of a stage's plan.
#include "search/knobs/stage_plans.h"

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/presets.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

double Sum(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

// They are what a step of the plan takes: the passes of each micro-batch, and once what is done once.
TEST(StagePlansTest, OpsTakeAStep) {
  const ir::Graph graph = testing::Gpt({.batch = 8, .seq = 64, .vocab = 128, .width = 64, .heads = 4, .layers = 2});
  const Cluster cluster = CpuCluster(4);
  const ir::Pins pins;
  for (const bool overlaps : {false, true}) {
    const SearchOptions options{.price = ir::Price::kTime, .dataset = {}, .execution = {.overlaps = overlaps}};
    StagePlans plans({.graph = graph, .cluster = cluster, .pins = pins, .options = options}, 2,
                     *MachinesOfStage(cluster, 2));
    for (const int64_t micro_batches : {1, 4}) {
      const std::optional<StagePlan>& plan = plans.Of(micro_batches, std::nullopt).plan;
      ASSERT_TRUE(plan.has_value());
      const Seconds step = StepOf(MustMake(graph, plan->plan, plans.machines().cluster, options.execution),
                                  plans.machines().cluster, options.execution);
      const double sum = Sum(plan->ops.seconds) * static_cast<double>(micro_batches) + Sum(plan->ops.once);
      EXPECT_NEAR(sum, step.value(), 1e-3 * step.value()) << overlaps << " " << micro_batches;
    }
  }
}

// Of many equal layers a few stand for all: nearly the same times, for as many ops.
TEST(StagePlansTest, FewLayersStandForAll) {
  const ir::Graph graph = testing::Gpt({.batch = 64, .seq = 64, .vocab = 512, .width = 128, .heads = 4, .layers = 24});
  const Cluster cluster = *ClusterOf(*FindPreset("h100x8"), 8);
  const ir::Pins pins;
  const SearchOptions options{.price = ir::Price::kTime, .dataset = {}, .execution = {.overlaps = true}};
  StagePlans plans({.graph = graph, .cluster = cluster, .pins = pins, .options = options}, 4,
                   *MachinesOfStage(cluster, 4));
  const std::optional<StagePlan>& plan = plans.Of(8, std::nullopt).plan;
  ASSERT_TRUE(plan.has_value());
  const CutTask all = plans.InAllLayers(*plan);
  ASSERT_EQ(plan->ops.seconds.size(), all.seconds.size());
  EXPECT_EQ(plan->ops.places.size(), all.places.size());
  EXPECT_NEAR(Sum(plan->ops.seconds), Sum(all.seconds), 0.03 * Sum(all.seconds));
  const SearchedGraph few = SearchedGraph::WithFewLayers(graph, options.tuning.searched_layers);
  EXPECT_LT(few.graph().ops.size(), graph.ops.size()) << "nothing is left out";
}

// Where nothing fits, the plan without stages says how much is missing, and of what.
TEST(StagePlansTest, NothingFitsIntoAnyNumberOfStages) {
  const ir::Graph graph = testing::Mlp(64, {64, 128, 16});
  ir::Pins pins;
  pins.settings.memory = {.value = 1024, .span = {}};
  pins.settings.stages = std::nullopt;
  Diagnostics diagnostics;
  EXPECT_FALSE(Search(graph, CpuCluster(4), pins, {.price = ir::Price::kTime, .dataset = {}}, diagnostics).has_value());
  ASSERT_EQ(diagnostics.items().size(), 1u);
  EXPECT_EQ(diagnostics.items()[0].code, Code::kE0313);
  EXPECT_NE(diagnostics.items()[0].message.find("on 4 devices exceed"), std::string::npos)
      << diagnostics.items()[0].message;
}

// What is searched once is found again.
TEST(StagePlansTest, SchedulesShareThem) {
  const ir::Graph graph = testing::Mlp(64, {64, 128, 16});
  const Cluster cluster = CpuCluster(4);
  const ir::Pins pins;
  const SearchOptions options{.price = ir::Price::kTime, .dataset = {}};
  StagePlans plans({.graph = graph, .cluster = cluster, .pins = pins, .options = options}, 2,
                   *MachinesOfStage(cluster, 2));
  const StagePlans::Planned& planned = plans.Of(4, 1e12);
  EXPECT_EQ(&plans.Of(4, 1e12), &planned);
  EXPECT_NE(&plans.Of(2, 1e12), &planned);
}

}  // namespace
}  // namespace cleave::search
