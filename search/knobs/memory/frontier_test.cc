#include "search/knobs/memory/frontier.h"

#include <algorithm>
#include <optional>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

Frontier FrontierWith(ir::Recompute recompute, int zero, int64_t micro_batches, Bytes& peak) {
  const ir::Graph graph = testing::Gpt({.batch = 64, .layers = 3});
  const Cluster cluster = CpuCluster(4);
  const SearchOptions options{.algorithm = ir::SearchAlgorithm::kDataParallel,
                              .dataset = {},
                              .zero = zero,
                              .micro_batches = micro_batches,
                              .recompute = recompute};
  Diagnostics diagnostics;
  std::optional<ir::Plan> plan = Search(graph, cluster, {}, options, diagnostics);
  EXPECT_TRUE(plan.has_value());
  plan->moves_steps = true;
  peak = EstimateMemory(graph, *plan).prediction.peak;
  return FrontierOf({.graph = graph, .plan = *plan, .cluster = cluster, .execution = options.execution});
}

TEST(Frontier, LessMemoryTakesMoreTime) {
  for (const int zero : {0, 3}) {
    Bytes peak, full_peak;
    const Frontier kept = FrontierWith(ir::Recompute::kNone, zero, 2, peak);
    ASSERT_GE(kept.points.size(), 3u);
    EXPECT_TRUE(kept.points.front().again.empty());
    EXPECT_TRUE(kept.points.front().is_chosen);
    EXPECT_TRUE(kept.is_as_asked);
    EXPECT_EQ(kept.points.front().peak, peak);
    for (size_t i = 1; i < kept.points.size(); ++i) {
      EXPECT_LT(kept.points[i].peak, kept.points[i - 1].peak);
      EXPECT_GT(kept.points[i].step, kept.points[i - 1].step);
      EXPECT_FALSE(kept.points[i].again.empty());
      EXPECT_FALSE(kept.points[i].is_chosen);
    }
    // The points are those of the plan, whatever it keeps.
    const Frontier full = FrontierWith(ir::Recompute::kFull, zero, 2, full_peak);
    EXPECT_FALSE(full.is_as_asked);
    EXPECT_EQ(full.points.front().peak, peak);
    EXPECT_EQ(full.points.back().peak, kept.points.back().peak);
    const auto chosen = std::find_if(full.points.begin(), full.points.end(),
                                     [](const FrontierPoint& point) { return point.is_chosen; });
    ASSERT_NE(chosen, full.points.end());
    EXPECT_EQ(chosen->peak, full_peak);
  }
}

}  // namespace
}  // namespace cleave::search
