#include "search/chunks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/presets.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// Columns and rows of the weights are cut, which are larger than what they multiply.
ir::Graph LargeWeights() { return testing::Mlp(8192, {12288, 49152, 12288, 49152, 12288}); }

struct Planned {
  ir::Plan plan;
  std::set<int64_t> chunks;  // That products have.
};

Planned PlanWith(const ir::Graph& graph, std::optional<int64_t> chunks, bool overlaps) {
  ir::Pins pins;
  pins.settings.collective_matmul = chunks;
  pins.settings.leave_idle = false;
  SearchOptions options = OptionsFrom(pins.settings);
  options.execution.overlaps = overlaps;
  Diagnostics diagnostics;
  std::optional<Found> found =
      SearchWithChunks(graph, *ClusterOf(*FindPreset("h100x8"), 8), pins, options, diagnostics);
  EXPECT_TRUE(found.has_value());
  Planned planned;
  if (!found.has_value()) return planned;
  planned.plan = std::move(found->plan);
  for (const ir::OpPlan& op : planned.plan.ops) {
    if (op.chunks != 0) planned.chunks.insert(op.chunks);
  }
  return planned;
}

bool HasReason(const ir::Plan& plan, const std::string& text) {
  return std::any_of(plan.ops.begin(), plan.ops.end(),
                     [&](const ir::OpPlan& op) { return op.reason.find(text) != std::string::npos; });
}

TEST(ChunksTest, AreTakenWhereTheStepIsFasterWithThem) {
  const ir::Graph graph = LargeWeights();
  const Planned chosen = PlanWith(graph, std::nullopt, /*overlaps=*/true);
  EXPECT_FALSE(chosen.chunks.empty());
  EXPECT_TRUE(HasReason(chosen.plan, "chunks, each of which is reduced beside the product of the next one"));
  const Planned none = PlanWith(graph, 0, /*overlaps=*/true);
  EXPECT_TRUE(none.chunks.empty());
  const SearchOptions options = [] {
    SearchOptions own;
    own.execution.overlaps = true;
    return own;
  }();
  const Cluster cluster = *ClusterOf(*FindPreset("h100x8"), 8);
  const auto step = [&](const ir::Plan& plan) {
    return StepOf(*ProgramOf(graph, plan, cluster, options.execution), cluster, options.execution);
  };
  EXPECT_LT(step(chosen.plan), step(none.plan));
}

TEST(ChunksTest, AreAsTheSettingSays) {
  const ir::Graph graph = LargeWeights();
  EXPECT_EQ(PlanWith(graph, 4, /*overlaps=*/false).chunks, std::set<int64_t>{4});
  EXPECT_TRUE(PlanWith(graph, std::nullopt, /*overlaps=*/false).chunks.empty());
}

}  // namespace
}  // namespace cleave::search
