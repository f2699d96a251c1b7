// No plan that people write for Megatron-LM is predicted to be faster than the one that is found.
#include "search/testing/hand_plans.h"

#include <string>

#include "gtest/gtest.h"
#include "search/cluster/presets.h"
#include "search/cluster/resolve.h"
#include "search/memory/memory.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

bool Fits(Bytes peak, const Cluster& cluster) {
  return cluster.memory_per_device == Bytes(0) || peak <= cluster.memory_per_device;
}

void ExpectNoneIsFaster(const testing::GptShape& shape, const std::string& host, int64_t devices) {
  SCOPED_TRACE(::testing::Message() << shape.layers << " layers of width " << shape.width << " on " << devices << " of "
                                    << host);
  Diagnostics diagnostics;
  const Cluster cluster = *ResolveCluster({.name_or_path = host, .devices = devices}, *FindPreset(host), diagnostics);
  const ir::Graph graph = testing::Gpt(shape);
  const Execution execution = {.overlaps = true};
  ir::Pins pins;
  pins.settings.stages = std::nullopt;
  pins.settings.pipeline_schedule = ir::PipelineSchedule::kZeroBubble;
  const SearchOptions options{.price = ir::Price::kTime,
                              .leave_idle = true,
                              .dataset = {},
                              .choose_micro_batches = true,
                              .execution = execution};
  const std::optional<ir::Plan> plan = Search(graph, cluster, pins, options, diagnostics);
  ASSERT_TRUE(plan.has_value());
  const Seconds found = StepOf(*ProgramOf(graph, *plan, execution), cluster, execution);
  for (const testing::HandPlan& hand : testing::HandPlansOf(shape, devices)) {
    for (const auto schedule : {ir::PipelineSchedule::kOneForwardOneBackward, ir::PipelineSchedule::kZeroBubble}) {
      const auto predicted = testing::PredictByHand(shape, graph, hand, schedule, cluster, execution);
      if (!predicted.has_value() || !Fits(predicted->peak, cluster)) continue;
      EXPECT_LE(found.value(), predicted->step.value() * (1 + 1e-9)) << testing::HandPlanText(hand);
    }
  }
}

TEST(HandPlansTest, NoneIsFasterThanWhatIsFound) {
  ExpectNoneIsFaster({.batch = 4, .seq = 64, .vocab = 128, .width = 64, .heads = 4, .layers = 4}, "v100x8", 4);
  ExpectNoneIsFaster({.batch = 4, .seq = 64, .vocab = 256, .width = 256, .heads = 4, .layers = 2}, "cpu*2", 4);
}

}  // namespace
}  // namespace cleave::search
