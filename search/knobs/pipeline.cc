// Reading guide: InAnyStages collects choices of stages, schedule and micro-batches, with estimates of their steps
// (ChoicesOf), InStages those for a given number of stages. FastestOf makes them by ascending estimate, until no other
// can be faster.
#include "search/knobs/pipeline.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel/parallel.h"
#include "base/text/text.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/staging.h"
#include "search/knobs/without_stages.h"
#include "search/model/pins/stage_pins.h"

namespace cleave::search {
namespace {

// The schedules that are tried. Where stages are pinned, each rank has one stage, because pins number stages.
std::vector<ir::PipelineSchedule> SchedulesOf(const ir::Pins& pins) {
  if (pins.settings.pipeline_schedule.has_value()) return {*pins.settings.pipeline_schedule};
  std::vector<ir::PipelineSchedule> schedules = {ir::PipelineSchedule::kOneForwardOneBackward,
                                                 ir::PipelineSchedule::kZeroBubble};
  if (!pins.stages.empty()) return schedules;
  for (const int stages_per_rank : {2, 4, 8})
    schedules.emplace_back(ir::PipelineSchedule::kInterleaved, stages_per_rank);
  return schedules;
}

// Reports models and meshes that cannot be pipelines; returns whether there is no such error.
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

// The plan without stages with the fastest predicted step: the searched one or data parallelism, because the price of a
// search is not exact to the last percent.
PipelineOutcome WithoutStages(const PipelineTask& task, const ir::Pins& flat) {
  const auto try_plan = [&](ir::SearchAlgorithm algorithm) {
    SearchOptions options = task.options;
    options.algorithm = algorithm;
    PipelineOutcome tried;
    std::optional<Found> found = SearchWithoutStages(task.graph, task.cluster, flat, options, tried.diagnostics);
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

// A Staging for each schedule, for one number of stages.
struct Stagings {
  std::unique_ptr<StagePlans> plans;
  std::vector<Staging> of_schedules;
};

Stagings StagingsOf(const PipelineTask& task, int64_t stages, const StageMachines& machines) {
  Stagings stagings{.plans = std::make_unique<StagePlans>(task, stages, machines), .of_schedules = {}};
  for (const ir::PipelineSchedule schedule : SchedulesOf(task.pins)) {
    stagings.of_schedules.emplace_back(*stagings.plans, schedule);
  }
  return stagings;
}

// A pipeline (stages, schedule, micro-batches), or a plan without stages.
struct Choice {
  StagingEstimate estimate = {};
  const Staging* staging = nullptr;  // Null: without stages.

  Seconds step() const { return estimate.step.value_or(Seconds(0)); }
};

struct Choices {
  std::vector<Choice> all = {};
  std::optional<Seconds> fastest = {};  // The least estimate.
  Diagnostics refused = {};             // Of the first Staging without an estimate.

  void Add(const Choices& more) {
    all.insert(all.end(), more.all.begin(), more.all.end());
    if (more.fastest.has_value()) fastest = std::min(*more.fastest, fastest.value_or(*more.fastest));
    if (!refused.has_errors()) refused.AddAll(more.refused);
  }
};

// The choices for one number of stages. `is_only`: there are no others. `below`: as in Staging::Estimates.
Choices ChoicesOf(const Stagings& stagings, bool is_only, std::optional<Seconds> below) {
  const std::vector<Staging>& all = stagings.of_schedules;
  const std::vector<Choices> estimated = MapInParallel(all.size(), [&](size_t i) {
    Choices own;
    for (StagingEstimate& estimate : all[i].Estimates(is_only && all.size() == 1, below, own.refused)) {
      const Choice& choice = own.all.emplace_back(Choice{.estimate = std::move(estimate), .staging = &all[i]});
      own.fastest = std::min(choice.step(), own.fastest.value_or(choice.step()));
    }
    return own;
  });
  Choices choices;
  for (const Choices& own : estimated) choices.Add(own);
  return choices;
}

// The step that others must beat.
std::optional<Seconds> Below(const SearchOptions& options, const PipelineOutcome& best) {
  if (!best.plan.has_value()) return options.faster_than;
  return std::min(best.plan->step, options.faster_than.value_or(best.plan->step));
}

// The fastest of `choices` and `best`. Choices are made by ascending estimate until the next cannot be faster: the
// first alone, then kAtOnce in parallel, on any machine, because the result must be the same.
PipelineOutcome FastestOf(const PipelineTask& task, const ir::Pins& flat, std::vector<Choice> choices,
                          PipelineOutcome best = {}) {
  constexpr size_t kAtOnce = 2;
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.step() < b.step(); });
  for (size_t begin = 0; begin < choices.size();) {
    const std::optional<Seconds> below = Below(task.options, best);
    if (below.has_value() && choices[begin].step() * kSurely >= *below) break;
    const size_t count = below.has_value() ? std::min(kAtOnce, choices.size() - begin) : 1;
    std::vector<PipelineOutcome> all = MapInParallel(count, [&](size_t i) {
      const Choice& choice = choices[begin + i];
      if (choice.staging != nullptr) return choice.staging->Fit(choice.estimate, below);
      SearchOptions options = task.options;
      options.faster_than = IsByStep(options) ? below : std::nullopt;
      return WithoutStages({.graph = task.graph, .cluster = task.cluster, .pins = task.pins, .options = options}, flat);
    });
    for (size_t i = 0; i < count; ++i) {
      // Errors of the plan without stages are the most useful.
      const bool says_more = !best.diagnostics.has_errors() || choices[begin + i].staging == nullptr;
      const bool is_first = !best.plan.has_value() && says_more;
      if (is_first || all[i].IsFasterThan(best)) best = std::move(all[i]);
    }
    begin += count;
  }
  return best;
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
  const Stagings stagings = StagingsOf(task, stages, *machines);
  Choices choices = ChoicesOf(stagings, /*is_only=*/true, task.options.faster_than);
  if (choices.all.empty()) {
    diagnostics.AddAll(choices.refused);
    return std::nullopt;
  }
  PipelineOutcome tried = FastestOf(task, task.pins, std::move(choices.all));
  diagnostics.AddAll(tried.diagnostics);
  return tried.plan.has_value() ? std::optional(std::move(tried.plan->found)) : std::nullopt;
}

// The plan without stages, searched without a memory limit.
PipelineOutcome WithoutStagesOrLimit(const PipelineTask& task, const ir::Pins& flat) {
  SearchOptions options = task.options;
  options.choose_micro_batches = false;
  ir::Pins pins = flat;
  pins.settings.memory = std::nullopt;
  Cluster cluster = task.cluster;
  cluster.memory_per_device = Bytes(0);
  return WithoutStages({.graph = task.graph, .cluster = cluster, .pins = pins, .options = options}, pins);
}

bool Fits(const PipelinePlan& plan, const std::optional<MemoryLimit>& limit) {
  return !limit.has_value() || PeakOf(*plan.found.program) <= limit->bytes;
}

// Under `stages = auto` no more stages are tried.
constexpr int64_t kMostTried = 64;

// The choices for several numbers of stages, ascending, up to kMostSlower numbers in a row without a new least
// estimate. kAtOnce are estimated in parallel, on any machine, because the result must be the same.
Choices ChoicesOf(const std::vector<Stagings>& stagings, std::optional<Seconds> below) {
  constexpr int kMostSlower = 3;
  constexpr size_t kAtOnce = 4;
  Choices choices;
  int slower = 0;
  for (size_t begin = 0; begin < stagings.size(); begin += kAtOnce) {
    const std::vector<Choices> next = MapInParallel(std::min(kAtOnce, stagings.size() - begin), [&](size_t i) {
      return ChoicesOf(stagings[begin + i], /*is_only=*/false, below);
    });
    for (const Choices& own : next) {
      const std::optional<Seconds> before = choices.fastest;
      choices.Add(own);
      slower = choices.fastest == before && before.has_value() ? slower + 1 : 0;
      if (slower == kMostSlower) return choices;
    }
  }
  return choices;
}

std::optional<Found> InAnyStages(const PipelineTask& task, Diagnostics& diagnostics) {
  const auto& [graph, cluster, pins, options] = task;
  ir::Pins flat = pins;
  flat.settings.stages = 1;
  Diagnostics refused;
  if (!CheckModel(graph, pins, refused)) return SearchWithoutStages(graph, cluster, flat, options, diagnostics);
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
  PipelineOutcome best;            // Or errors.
  std::vector<Stagings> stagings;  // Choices point to them.
  std::optional<Choice> flat_choice;
  for (const auto& [stages, machines] : numbers) {
    if (stages > 1) {
      stagings.push_back(StagingsOf(task, stages, machines));
      continue;
    }
    PipelineOutcome unlimited = WithoutStagesOrLimit(task, flat);
    if (unlimited.plan.has_value() && Fits(*unlimited.plan, MemoryLimitOf(flat.settings, cluster))) {
      best = std::move(unlimited);
    } else {
      flat_choice.emplace();
      if (unlimited.plan.has_value()) flat_choice->estimate.step = unlimited.plan->step;
    }
  }
  Choices choices = ChoicesOf(stagings, Below(options, best));
  if (flat_choice.has_value()) choices.all.insert(choices.all.begin(), *flat_choice);
  best = FastestOf(task, flat, std::move(choices.all), std::move(best));
  diagnostics.AddAll(best.plan.has_value() || best.diagnostics.has_errors() ? best.diagnostics : choices.refused);
  return best.plan.has_value() ? std::optional(std::move(best.plan->found)) : std::nullopt;
}

}  // namespace

std::optional<Found> SearchPipeline(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                    const SearchOptions& options, Diagnostics& diagnostics) {
  const PipelineTask task{.graph = graph, .cluster = cluster, .pins = pins, .options = options};
  return pins.settings.stages.has_value() ? InStages(task, *pins.settings.stages, diagnostics)
                                          : InAnyStages(task, diagnostics);
}

}  // namespace cleave::search
