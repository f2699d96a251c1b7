#include "search/pipeline.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel/parallel.h"
#include "base/text/text.h"
#include "search/memory/measured.h"
#include "search/memory/memory.h"
#include "search/staging.h"

namespace cleave::search {
namespace {

// The schedules that may be taken. Pins count stages, and where it is open how many there are, each rank has one.
std::vector<ir::PipelineSchedule> SchedulesOf(const ir::Pins& pins) {
  if (pins.settings.pipeline_schedule.has_value()) return {*pins.settings.pipeline_schedule};
  std::vector<ir::PipelineSchedule> schedules = {ir::PipelineSchedule::kOneForwardOneBackward,
                                                 ir::PipelineSchedule::kZeroBubble};
  if (!pins.stages.empty()) return schedules;
  for (const int stages_per_rank : {2, 4}) schedules.emplace_back(ir::PipelineSchedule::kInterleaved, stages_per_rank);
  return schedules;
}

// What a pipeline cannot have.
bool CheckModel(const ir::Graph& graph, const ir::Pins& pins, Diagnostics& diagnostics) {
  const Span& place = pins.settings.stages_span;
  if (graph.is_manual()) {
    diagnostics.Add(NoPipeline("a manual model cannot be a pipeline", place, "asked for here"));
  } else if (!pins.regions.empty()) {
    diagnostics.Add(NoPipeline("a model with regions cannot be a pipeline", place, "asked for here"));
  } else if (std::any_of(pins.settings.mesh.begin(), pins.settings.mesh.end(),
                         [](const ir::NamedAxis& axis) { return axis.name == ir::kStageAxis; })) {
    diagnostics.Add(NoPipeline(absl::StrCat("`", ir::kStageAxis, "` is the mesh axis of the stages themselves"),
                               pins.settings.mesh_span, "another axis of this name"));
  }
  return !diagnostics.has_errors();
}

// The fastest of the schedules, if a step takes less than `below`. No plan where there is none, with errors where none
// fits.
PipelineOutcome InAnyOrder(const PipelineTask& task, int64_t stages, const StageMachines& machines,
                           std::optional<Seconds> below) {
  StagePlans plans(task, stages, machines);
  const std::vector<ir::PipelineSchedule> schedules = SchedulesOf(task.pins);
  std::vector<PipelineOutcome> all =
      MapInParallel(schedules.size(), [&](size_t i) { return FindStaging(plans, schedules[i], below); });
  PipelineOutcome& best = *std::min_element(
      all.begin(), all.end(), [](const PipelineOutcome& a, const PipelineOutcome& b) { return a.IsFasterThan(b); });
  return std::move(best);
}

std::optional<Found> InStages(const PipelineTask& task, int64_t stages, Diagnostics& diagnostics) {
  if (!CheckModel(task.graph, task.pins, diagnostics)) return std::nullopt;
  const int64_t per_rank = SchedulesOf(task.pins).front().stages_per_rank;
  if (!CheckStagePins(task.graph, task.pins, stages * per_rank, diagnostics)) return std::nullopt;
  const std::optional<StageMachines> machines = MachinesOfStage(task.cluster, stages);
  if (!machines.has_value()) {
    diagnostics.Add(NoPipeline(absl::StrCat(Plural(task.cluster.devices(), "device"), " cannot be divided into ",
                                            StagesText(stages), " of equal size along their links"),
                               task.pins.settings.stages_span, "asked for here"));
    return std::nullopt;
  }
  PipelineOutcome tried = InAnyOrder(task, stages, *machines, std::nullopt);
  diagnostics.AddAll(tried.diagnostics);
  return tried.plan.has_value() ? std::optional(std::move(tried.plan->found)) : std::nullopt;
}

// A plan without stages. Pipelines are compared with what it is predicted to take, of which the price of a search is
// not a measure to the last percent, so data parallelism is looked at beside what the search finds.
PipelineOutcome WithoutStages(const PipelineTask& task, const ir::Pins& flat) {
  const auto try_plan = [&](ir::SearchAlgorithm algorithm) {
    SearchOptions options = task.options;
    options.algorithm = algorithm;
    PipelineOutcome tried;
    std::optional<Found> found = SearchForProgram(task.graph, task.cluster, flat, options, tried.diagnostics);
    if (!found.has_value()) return tried;
    if (!found->program.has_value())
      found->program = MustMake(task.graph, found->plan, task.cluster, options.execution);
    const Seconds step = StepOf(*found->program, task.cluster, options.execution);
    tried.plan = PipelinePlan{.found = *std::move(found), .step = step};
    return tried;
  };
  if (task.options.algorithm != ir::SearchAlgorithm::kSapp) return try_plan(task.options.algorithm);
  auto [searched, data_parallel] = InParallel([&] { return try_plan(ir::SearchAlgorithm::kSapp); },
                                              [&] { return try_plan(ir::SearchAlgorithm::kDataParallel); });
  return std::move(data_parallel.IsFasterThan(searched) ? data_parallel : searched);
}

// Where the number of stages is to be found, more than these are not tried, nor more after so many in a row of which
// none was faster than what was known. So many are tried at once, on any machine, because the result must be the same.
constexpr int64_t kMostTried = 64;
constexpr int kMostSlower = 3;
constexpr size_t kAtOnce = 4;

std::optional<Found> InAnyStages(const PipelineTask& task, Diagnostics& diagnostics) {
  const auto& [graph, cluster, pins, options] = task;
  ir::Pins flat = pins;
  flat.settings.stages = 1;
  Diagnostics refused;
  if (!CheckModel(graph, pins, refused)) return SearchForProgram(graph, cluster, flat, options, diagnostics);
  int64_t fewest = 1;
  const int64_t per_rank = SchedulesOf(pins).front().stages_per_rank;
  for (const ir::StagePin& pin : pins.stages) fewest = std::max(fewest, pin.stage / per_rank + 1);
  const int64_t most = std::max(fewest, std::min(cluster.devices(), kMostTried));
  if (!CheckStagePins(graph, pins, most * per_rank, diagnostics)) return std::nullopt;
  std::vector<std::pair<int64_t, StageMachines>> numbers;
  for (int64_t stages = fewest; stages <= std::min(cluster.devices(), kMostTried); ++stages) {
    std::optional<StageMachines> machines = MachinesOfStage(cluster, stages);
    if (machines.has_value()) numbers.emplace_back(stages, *std::move(machines));
  }
  if (numbers.empty()) {
    diagnostics.Add(NoPipeline(absl::StrCat(Plural(cluster.devices(), "device"), " cannot be divided into ", fewest,
                                            " or more stages of equal size along their links"),
                               pins.stages.back().span, "asked for here"));
    return std::nullopt;
  }
  PipelineOutcome best;  // Or why there is none.
  int slower = 0;
  for (size_t begin = 0; begin < numbers.size() && slower < kMostSlower; begin += kAtOnce) {
    const std::optional<Seconds> below = best.plan.has_value() ? std::optional(best.plan->step) : std::nullopt;
    std::vector<PipelineOutcome> all = MapInParallel(std::min(kAtOnce, numbers.size() - begin), [&](size_t i) {
      const auto& [stages, machines] = numbers[begin + i];
      return stages == 1 ? WithoutStages(task, flat) : InAnyOrder(task, stages, machines, below);
    });
    for (PipelineOutcome& tried : all) {
      const bool is_first = !best.plan.has_value() && !best.diagnostics.has_errors();
      if (is_first || tried.IsFasterThan(best)) {
        best = std::move(tried);
        slower = 0;
      } else if (best.plan.has_value() && ++slower == kMostSlower) {
        break;
      }
    }
  }
  diagnostics.AddAll(best.diagnostics);
  return best.plan.has_value() ? std::optional(std::move(best.plan->found)) : std::nullopt;
}

}  // namespace

bool CheckStagePins(const ir::Graph& graph, const ir::Pins& pins, int64_t stages, Diagnostics& diagnostics) {
  std::vector<ir::StagePin> ordered = pins.stages;
  std::sort(ordered.begin(), ordered.end(), [](const ir::StagePin& a, const ir::StagePin& b) { return a.op < b.op; });
  // Stages are runs of ops.
  const ir::StagePin* latest = nullptr;
  for (const ir::StagePin& pin : ordered) {
    if (pin.stage >= stages) {
      diagnostics.Add(NoPipeline(absl::StrCat("stage ", pin.stage, " in a plan with ", StagesText(stages)), pin.span,
                                 "asked for here")
                          .Note("stages are numbered from 0")
                          .Help("`stages` in `parallel` says how many there are"));
      return false;
    }
    if (latest != nullptr && pin.stage < latest->stage) {
      diagnostics.Add(NoPipeline(absl::StrCat("`", graph.op(pin.op).name, "` in stage ", pin.stage, " comes after `",
                                              graph.op(latest->op).name, "` in stage ", latest->stage),
                                 pin.span, "the earlier stage")
                          .At(latest->span, "the later stage")
                          .Note("each stage has the ops between its first and its last one, as they are written"));
      return false;
    }
    latest = &pin;
  }
  return true;
}

std::optional<Found> SearchPipeline(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                    const SearchOptions& options, Diagnostics& diagnostics) {
  const PipelineTask task{.graph = graph, .cluster = cluster, .pins = pins, .options = options};
  return pins.settings.stages.has_value() ? InStages(task, *pins.settings.stages, diagnostics)
                                          : InAnyStages(task, diagnostics);
}

}  // namespace cleave::search
