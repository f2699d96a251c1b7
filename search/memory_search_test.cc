#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/cost.h"
#include "search/search.h"
#include "search/testing.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::SeedNetwork;

ir::Pins WithMemory(Bytes bytes) {
  ir::Pins pins;
  pins.settings.memory = ir::Placed<int64_t>{.value = bytes.value(), .span = {}};
  return pins;
}

Bytes PeakOf(const ir::Graph& graph, const ir::Plan& plan) { return EstimateMemory(graph, plan).prediction.peak; }

TEST(MemorySearchTest, ALimitBelowTheCheapestPlanGivesAnotherOneThatFits) {
  for (const ir::Graph& graph : {SeedNetwork(), Gpt({}), Mlp(64, {64, 512, 512, 16})}) {
    for (const int64_t devices : {4, 6}) {
      const Cluster cluster = CpuCluster(devices);
      const ir::Plan free = FoundPlan(graph, cluster, {.dataset = {}});
      const Bytes limit = PeakOf(graph, free) - Bytes(1);
      const ir::Plan bound = FoundPlan(graph, cluster, {.dataset = {}}, WithMemory(limit));
      EXPECT_LE(PeakOf(graph, bound), limit) << devices;
      EXPECT_GE(bound.search.cost, free.search.cost * (1 - 1e-9)) << devices;
      EXPECT_NEAR(bound.search.cost, PlanCost(FactsOf(graph), bound).price, 1e-6 * bound.search.cost)
          << "without the weight";
      EXPECT_EQ(bound.search.zero, 0);
    }
  }
}

TEST(MemorySearchTest, RoomEnoughChangesNothing) {
  const ir::Graph graph = SeedNetwork();
  ir::Plan free = FoundPlan(graph, CpuCluster(8), {.dataset = {}});
  ir::Plan bound = FoundPlan(graph, CpuCluster(8), {.dataset = {}}, WithMemory(PeakOf(graph, free)));
  EXPECT_EQ(free, bound);
}

TEST(MemorySearchTest, TheMemoryOfTheClusterIsALimitToo) {
  const ir::Graph graph = SeedNetwork();
  Cluster cluster = CpuCluster(4);
  cluster.memory_per_device = PeakOf(graph, FoundPlan(graph, cluster, {.dataset = {}})) - Bytes(1);
  EXPECT_LE(PeakOf(graph, FoundPlan(graph, cluster, {.dataset = {}})), cluster.memory_per_device);
}

TEST(MemorySearchTest, NothingFitsIntoAKibibyte) {
  Diagnostics diagnostics;
  EXPECT_FALSE(Search(SeedNetwork(), CpuCluster(8), WithMemory(Bytes(1024)), {.dataset = {}}, diagnostics).has_value());
  ASSERT_EQ(diagnostics.error_count(), 1);
  EXPECT_EQ(diagnostics.items().back().code, Code::kE0313);
}

// With all savings, of which the compiler chooses micro-batches too.
TEST(MemorySearchTest, ARefusalNamesMemoryThatAPlanReaches) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  for (const int64_t devices : {1, 2}) {
    const Cluster cluster = CpuCluster(devices);
    SearchOptions options{
        .price = ir::Price::kTime, .dataset = {}, .zero = std::nullopt, .micro_batches = 32 / devices};
    const Bytes in_parts = PeakOf(graph, FoundPlan(graph, cluster, options));
    options.micro_batches = 1;
    options.choose_micro_batches = true;
    Diagnostics diagnostics;
    EXPECT_FALSE(Search(graph, cluster, WithMemory(Bytes(1024)), options, diagnostics).has_value());
    const std::string& note = diagnostics.items().back().notes.front();
    int64_t named = 0;
    ASSERT_EQ(std::sscanf(note.c_str(), "the smallest plan needs %ld bytes", &named), 1) << note;
    EXPECT_LE(named, in_parts.value());
    EXPECT_LE(PeakOf(graph, FoundPlan(graph, cluster, options, WithMemory(Bytes(named)))).value(), named);
  }
}

// Levels that send as much as 0 divide the update.
TEST(MemorySearchTest, AutomaticZeroIsTheFastestThatFits) {
  const ir::Graph graph = Gpt({});  // AdamW keeps two states for each parameter.
  SearchOptions options{.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}, .zero = 0};
  const Bytes whole = PeakOf(graph, FoundPlan(graph, CpuCluster(4), options));
  options.zero = std::nullopt;
  EXPECT_EQ(FoundPlan(graph, CpuCluster(4), options).search.zero, 0) << "no limit";
  const ir::Plan fastest = FoundPlan(graph, CpuCluster(4), options, WithMemory(whole));
  EXPECT_GT(fastest.search.zero, 0);
  const auto step = [&](const ir::Plan& plan) {
    return StepOf(*ProgramOf(graph, plan, CpuCluster(4), {}), CpuCluster(4), {});
  };
  for (const int level : {0, 1, 2}) {
    options.zero = level;
    EXPECT_GE(step(FoundPlan(graph, CpuCluster(4), options)), step(fastest)) << level;
  }
  options.zero = std::nullopt;
  const ir::Plan divided = FoundPlan(graph, CpuCluster(4), options, WithMemory(whole - Bytes(1)));
  EXPECT_GT(divided.search.zero, 0);
  EXPECT_LT(PeakOf(graph, divided), whole);
  for (int level = 0; level < divided.search.zero; ++level) {
    options.zero = level;
    EXPECT_GE(PeakOf(graph, FoundPlan(graph, CpuCluster(4), options)), whole) << level;
  }
}

TEST(MemorySearchTest, WarningsAreGivenOnce) {
  const ir::Graph graph = Mlp(3, {64, 5, 7});
  const Bytes limit = PeakOf(graph, FoundPlan(graph, CpuCluster(8), {.dataset = {}})) - Bytes(1);
  Diagnostics diagnostics;
  Search(graph, CpuCluster(8), WithMemory(limit), {.dataset = {}}, diagnostics);
  std::vector<std::string> messages;
  for (const Diagnostic& item : diagnostics.items()) messages.push_back(item.message);
  ASSERT_FALSE(messages.empty());
  std::sort(messages.begin(), messages.end());
  EXPECT_EQ(std::adjacent_find(messages.begin(), messages.end()), messages.end());
}

}  // namespace
}  // namespace cleave::search
