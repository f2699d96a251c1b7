// Units of whole models, and the choice for one transformer block, compared with all sets.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/recompute/choose.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// Looks at all sets but those that take as long as a set that is known: a set takes no less time than its parts.
class AllSets {
 public:
  AllSets(const Liveness& step, Bytes limit, Seconds known) : step_(step), limit_(limit), best_(known) {
    for (const Liveness::ForwardStage& stage : step.forward()) {
      if (stage.unit >= 0 && std::find(units_.begin(), units_.end(), stage.unit) == units_.end())
        units_.push_back(stage.unit);
    }
    // Long ones first: few sets have many of them.
    const auto seconds = [&](int unit) {
      Seconds sum{0};
      for (const int stage : step.units()[static_cast<size_t>(unit)].stages)
        sum += step.forward()[static_cast<size_t>(stage)].seconds;
      return sum;
    };
    std::stable_sort(units_.begin(), units_.end(), [&](int a, int b) { return seconds(a) > seconds(b); });
  }

  // The least time of a set that fits, if it is less than the known one.
  Seconds Best() {
    Visit(0, std::vector<bool>(step_.units().size(), false));
    return best_;
  }

 private:
  void Visit(size_t i, std::vector<bool> set) {
    const Outcome outcome = step_.Of(set, limit_);
    if (outcome.seconds >= best_) return;
    if (outcome.peak <= limit_) best_ = outcome.seconds;
    for (; i < units_.size(); ++i) {
      std::vector<bool> more = set;
      more[static_cast<size_t>(units_[i])] = true;
      Visit(i + 1, std::move(more));
    }
  }

  const Liveness& step_;
  const Bytes limit_;
  Seconds best_;
  std::vector<int> units_;
};

// Within limits from near the least that a step of `graph` can do with to what it takes without recomputation.
void ExpectNearBest(const ir::Graph& graph, const ir::FuseOptions& fuse) {
  Diagnostics diagnostics;
  const Cluster cluster = CpuCluster(1);
  const std::optional<ir::Plan> plan = Search(graph, cluster, {}, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(plan.has_value());
  const ir::LoweredProgram made = *ProgramOf(graph, *plan, {.fuse = fuse});
  const Liveness step(made.distributed, made.program, made.memory, cluster, {});
  Chooser chooser(step, SearchTuning().recompute_work);
  const Bytes most = step.Of(chooser.AsAsked(), Bytes(0)).peak;
  const Bytes least = step.Of(chooser.Smallest(), Bytes(0)).peak;
  ASSERT_LT(least.value() * 5, most.value() * 4);
  for (const int eighths : {1, 4, 5, 6, 7}) {
    const Bytes limit(least.value() + (most - least).value() * eighths / 8);
    const std::optional<std::vector<bool>> found = chooser.Cheapest(limit);
    ASSERT_TRUE(found.has_value()) << eighths;
    const Outcome outcome = step.Of(*found, limit);
    EXPECT_LE(outcome.peak, limit);
    EXPECT_GT(outcome.seconds, Seconds(0));
    EXPECT_LE(outcome.seconds.value(), AllSets(step, limit, outcome.seconds).Best().value() * 1.01) << eighths;
  }
}

// A block of GPT-2, with a vocabulary that does not hide it.
TEST(TransformerBlockTest, TheChoiceIsWithinOnePercentOfTheBest) {
  const ir::Graph graph = testing::Gpt({.batch = 32, .seq = 256, .vocab = 768, .width = 768, .heads = 12, .layers = 1});
  ExpectNearBest(graph, {});
}

// The backward pass reshapes the least values for itself.
TEST(LivenessTest, UnitsHaveOpsThatCanBeMadeAgain) {
  const ir::Graph graph = testing::LeastOfColumns(12, 8);
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(graph, CpuCluster(1), {}, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(plan.has_value());
  const ir::LoweredProgram made = *ProgramOf(graph, *plan);
  const Liveness step(made.distributed, made.program, made.memory, CpuCluster(1), {});
  EXPECT_FALSE(step.units().empty());
  for (const Unit& unit : step.units()) {
    for (const ir::OpId op : unit.ops) EXPECT_TRUE(ir::CanBeRecomputed(graph, graph.op(op))) << graph.op(op).name;
  }
}

}  // namespace
}  // namespace cleave::search
