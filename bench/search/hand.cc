#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/search/tables.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/search.h"
#include "search/testing/hand_plans.h"
#include "search/testing/models.h"

namespace cleave::bench {
namespace {

using search::testing::GptShape;
using search::testing::HandPlan;

struct Case {
  GptShape shape;
  std::string machines;
  int64_t devices = 8;
};

std::vector<Case> Cases() {
  const auto shape = [](int layers, int64_t width, int64_t heads, int64_t seq, int64_t batch) {
    return GptShape{.batch = batch, .seq = seq, .vocab = 51200, .width = width, .heads = heads, .layers = layers};
  };
  return {{shape(12, 768, 12, 1024, 32), "h100x8", 8},         {shape(24, 1024, 16, 1024, 32), "h100x8", 8},
          {shape(24, 1024, 16, 1024, 32), "v100x8*2", 16},     {shape(36, 1280, 20, 1024, 32), "a100x8*2", 16},
          {shape(48, 1600, 25, 1024, 32), "h100x8*2", 16},     {shape(24, 2048, 16, 2048, 32), "a100x8*2", 16},
          {shape(24, 2304, 24, 2048, 64), "a100x8*4", 32},     {shape(32, 2560, 32, 2048, 64), "h100x8*4", 32},
          {shape(30, 3072, 32, 2048, 128), "a100x8*8", 64},    {shape(32, 4096, 32, 2048, 128), "h100x8*8", 64},
          {shape(12, 2048, 32, 512, 1024), "h100x8*32", 256},  {shape(12, 2048, 32, 512, 1024), "h100x8*128", 1024},
          {shape(12, 2048, 32, 512, 4096), "h100x8*512", 4096}};
}

// The fastest of the plans that fit into memory, if any does.
struct Best {
  std::optional<HandPlan> plan;
  Seconds step{0};
  int tried = 0;
};

Best BestByHand(const Case& own, const ir::Graph& graph, const search::Cluster& cluster, ir::PipelineSchedule schedule,
                const search::Execution& execution) {
  Best best;
  for (const HandPlan& plan : search::testing::HandPlansOf(own.shape, own.devices)) {
    const auto predicted = search::testing::PredictByHand(own.shape, graph, plan, schedule, cluster, execution);
    if (!predicted.has_value()) continue;
    ++best.tried;
    if (predicted->peak > cluster.memory_per_device) continue;
    if (!best.plan.has_value() || predicted->step < best.step) {
      best.plan = plan;
      best.step = predicted->step;
    }
  }
  return best;
}

void PrintRow(const Case& own, ir::PipelineSchedule schedule) {
  Diagnostics diagnostics;
  const search::Cluster cluster = *search::ClusterOf(*search::FindPreset(own.machines), own.devices);
  const ir::Graph graph = search::testing::Gpt(own.shape);
  const search::Execution execution = {.overlaps = true};
  const Best hand = BestByHand(own, graph, cluster, schedule, execution);
  ir::Pins pins;
  pins.settings.stages = std::nullopt;
  pins.settings.pipeline_schedule = schedule;
  const search::SearchOptions options{.price = ir::Price::kTime,
                                      .leave_idle = true,
                                      .dataset = {},
                                      .zero = std::nullopt,
                                      .choose_micro_batches = true,
                                      .execution = execution};
  const std::optional<ir::Plan> plan = search::Search(graph, cluster, pins, options, diagnostics);
  std::printf("| %d x %lld, %s | %s | %d | %s ", own.shape.layers, static_cast<long long>(own.shape.width),
              own.machines.c_str(), std::string(ir::PipelineScheduleName(schedule)).c_str(), hand.tried,
              hand.plan.has_value() ? search::testing::HandPlanText(*hand.plan).c_str() : "-");
  if (hand.plan.has_value()) std::printf("| %.4f ", hand.step.value());
  if (plan.has_value()) {
    const Seconds found = search::StepOf(*search::ProgramOf(graph, *plan, cluster, execution), cluster, execution);
    std::printf("| p %d, K %lld, ZeRO %d | %.4f | %.3f |\n", ir::StageCount(*plan),
                static_cast<long long>(plan->micro_batches), plan->search.zero, found.value(),
                hand.plan.has_value() ? found.value() / hand.step.value() : 0);
  } else {
    std::printf("| - | - | - |\n");
  }
  std::fflush(stdout);
}

}  // namespace

void PrintHand(const TableOptions& options) {
  std::printf("| layers x width, GPUs | schedule | tried | best by hand | step, s | found | step, s | ratio |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const Case& own : Cases()) {
    if (own.devices > options.most_devices) continue;
    PrintRow(own, ir::PipelineSchedule::kOneForwardOneBackward);
    PrintRow(own, ir::PipelineSchedule::kZeroBubble);
  }
}

}  // namespace cleave::bench
