#include "search/rings.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "ir/graph/rings/rings.h"
#include "search/knobs/memory/memory.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// One sequence, and one head: only rows of its attention can be cut.
ir::Graph LongSequence() {
  return testing::Gpt({.batch = 1, .seq = 256, .vocab = 16, .width = 16, .heads = 1, .layers = 1});
}

ir::Plan PlanWith(const ir::Graph& graph, ir::RingAttentions rings, std::optional<Bytes> memory = {}) {
  ir::Pins pins;
  pins.settings.ring_attention = rings;
  pins.settings.leave_idle = false;
  if (memory.has_value()) pins.settings.memory = ir::Placed<int64_t>{.value = memory->value(), .span = {}};
  Diagnostics diagnostics;
  std::optional<Found> found = SearchWithRings(graph, CpuCluster(4), pins, OptionsFrom(pins.settings), diagnostics);
  EXPECT_TRUE(found.has_value());
  return found.has_value() ? std::move(found->plan) : ir::Plan();
}

Bytes PeakOf(const ir::Graph& graph, const ir::Plan& plan) {
  return EstimateMemory(ir::WithRings(graph, ir::RingAttention(plan)), plan).prediction.peak;
}

std::string ReasonOf(const ir::Graph& graph, const ir::Plan& plan) {
  const auto attention = std::find_if(graph.ops.begin(), graph.ops.end(),
                                      [](const ir::Op& op) { return op.kind == ir::OpKind::kAttention; });
  return plan.ops[attention->id].reason;
}

TEST(RingsTest, AsTheSettingSays) {
  const ir::Graph graph = LongSequence();
  const ir::Plan all = PlanWith(graph, ir::RingAttentions::kAll), none = PlanWith(graph, ir::RingAttentions::kNone);
  EXPECT_EQ(ir::RingAttention(all).size(), 5);
  EXPECT_TRUE(ir::RingAttention(none).empty());
  EXPECT_NE(ReasonOf(graph, all).find("keys go round"), std::string::npos) << ReasonOf(graph, all);
  EXPECT_LT(PeakOf(graph, all), PeakOf(graph, none));
}

TEST(RingsTest, AreTakenWhereMemoryAsksForThem) {
  const ir::Graph graph = LongSequence();
  const Bytes ring = PeakOf(graph, PlanWith(graph, ir::RingAttentions::kAll));
  const ir::Plan plan = PlanWith(graph, ir::RingAttentions::kAuto, ring);
  EXPECT_FALSE(ir::RingAttention(plan).empty()) << ReasonOf(graph, plan);
  EXPECT_LE(PeakOf(graph, plan), ring);
}

// The search of rings looks only for plans that are faster than the gathered one.
TEST(RingsTest, WhatIsTakenIsTheFasterOfBoth) {
  const ir::Graph graph = testing::Gpt({.batch = 4, .seq = 128, .vocab = 16, .width = 16, .heads = 2, .layers = 1});
  const auto step_within = [&](ir::RingAttentions rings, Bytes memory) -> std::optional<Seconds> {
    ir::Pins pins;
    pins.settings.ring_attention = rings;
    pins.settings.cost = ir::Price::kTime;
    pins.settings.memory = ir::Placed<int64_t>{.value = memory.value(), .span = {}};
    const SearchOptions options = OptionsFrom(pins.settings);
    Diagnostics diagnostics;
    const std::optional<Found> found = SearchWithRings(graph, CpuCluster(4), pins, options, diagnostics);
    if (!found.has_value()) return std::nullopt;
    return StepOf(*found->program, CpuCluster(4), options.execution);
  };
  const Bytes most = PeakOf(graph, PlanWith(graph, ir::RingAttentions::kNone));
  int compared = 0;
  for (int64_t part = 4; part <= 8; ++part) {
    const Bytes memory(most.value() * part / 8);
    const std::optional<Seconds> all = step_within(ir::RingAttentions::kAll, memory),
                                 none = step_within(ir::RingAttentions::kNone, memory),
                                 any = step_within(ir::RingAttentions::kAuto, memory);
    if (!none.has_value()) continue;
    ASSERT_TRUE(any.has_value());
    EXPECT_LE(any->value(), std::min(all.value_or(*none), *none).value() * (1 + 1e-9)) << part;
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

}  // namespace
}  // namespace cleave::search
