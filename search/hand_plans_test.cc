// No plan that people write for Megatron-LM is predicted to be faster than the one that is found, and no other cut into
// stages than the one that is found.
#include "search/testing/hand_plans.h"

#include <string>

#include "gtest/gtest.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/stages/stages.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/stage_plans.h"
#include "search/model/cluster/presets.h"
#include "search/model/cluster/resolve.h"
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
  const Seconds found = StepOf(*ProgramOf(graph, *plan, cluster, execution), cluster, execution);
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

// The model is cut into two stages, and the batch into parts, so that no other cut and no other number of parts is much
// faster under the plan that is found for the ranks of a stage.
void ExpectNoOtherCutIsFaster(const ir::Graph& graph, const std::string& host, int64_t devices) {
  Diagnostics diagnostics;
  const Cluster cluster = *ResolveCluster({.name_or_path = host, .devices = devices}, *FindPreset(host), diagnostics);
  ir::Pins pins;
  pins.settings.stages = 2;
  pins.settings.pipeline_schedule = ir::PipelineSchedule::kOneForwardOneBackward;
  SearchOptions options{.price = ir::Price::kTime, .dataset = {}, .choose_micro_batches = true};
  const std::optional<ir::Plan> plan = Search(graph, cluster, pins, options, diagnostics);
  ASSERT_TRUE(plan.has_value());
  const Seconds found = StepOf(*ProgramOf(graph, *plan), cluster, options.execution);
  const StageMachines machines = *MachinesOfStage(cluster, 2);
  pins.settings.stages = 1;
  options.choose_micro_batches = false;
  int tried = 0;
  std::optional<Seconds> least;
  for (options.micro_batches = 1; options.micro_batches <= 64; options.micro_batches *= 2) {
    if (ir::FindRefusal(graph, options.micro_batches).has_value()) break;
    ir::Plan own = *Search(graph, machines.cluster, pins, options, diagnostics);
    own.moves_steps = false;
    for (const ir::Op& op : graph.ops) {
      if (op.phase != ir::Phase::kForward) continue;
      absl::StatusOr<ir::Plan> staged =
          ir::WithStages(own, machines.axis, ir::PipelineSchedule(), ir::StagesOf(graph, {op.id}));
      if (!staged.ok()) continue;
      staged->cluster = cluster.name;
      const absl::StatusOr<ir::LoweredProgram> program = ProgramOf(graph, *staged);
      if (!program.ok()) continue;
      ++tried;
      const Seconds step = StepOf(*program, cluster, options.execution);
      if (!least.has_value() || step < *least) least = step;
    }
  }
  EXPECT_GT(tried, 8);
  EXPECT_LE(found.value(), least->value() * 1.02);
}

TEST(PipelineSearchTest, NoOtherCutIsFaster) {
  ExpectNoOtherCutIsFaster(testing::Mlp(64, {64, 512, 32, 512, 512, 16}), "v100x8", 4);
  ExpectNoOtherCutIsFaster(testing::Mlp(64, {1024, 512, 512, 128, 64, 16}), "v100x8", 2);
  ExpectNoOtherCutIsFaster(testing::Mlp(256, {16, 16, 512, 2048, 64, 16}), "cpu*2", 2);
  ExpectNoOtherCutIsFaster(testing::Gpt({.batch = 4, .seq = 16, .width = 32, .layers = 2}), "v100x8", 4);
}

}  // namespace
}  // namespace cleave::search
