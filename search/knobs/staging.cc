// Reading guide: Estimates tries numbers of micro-batches without a memory limit; Fit makes the pipeline for one of
// them, and searches plans for less and less memory until it fits. Cut turns a plan of the whole model into one with
// stages: FastestCuts chooses where, by simulating passes (EndOf). WithRecomputation chooses what each group of ranks
// makes again.
#include "search/knobs/staging.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"
#include "base/parallel/parallel.h"
#include "base/text/text.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/recompute/recompute.h"
#include "search/model/pins/stage_pins.h"
#include "search/price/cost/pipeline.h"
#include "search/solve/stages/stages.h"

namespace cleave::search {
namespace {

// The gradients of weights are about half of a backward pass: of the two gradients of each product one is its weight's.
constexpr double kOfWeights = 0.5;

}  // namespace

Staging::Staging(StagePlans& plans, ir::PipelineSchedule schedule)
    : plans_(plans),
      graph_(plans.task().graph),
      cluster_(plans.task().cluster),
      pins_(plans.task().pins),
      options_(plans.task().options),
      stages_(plans.stages()),
      schedule_(schedule),
      limit_(MemoryLimitOf(pins_.settings, cluster_)),
      forward_(plans.forward()) {
  std::map<ir::OpId, int64_t> pins_of;
  for (const ir::StagePin& pin : pins_.stages) pins_of[pin.op] = pin.stage;
  for (size_t i = 0; i < forward_.size(); ++i) {
    const auto pin = pins_of.find(forward_[i]);
    if (pin != pins_of.end()) pinned_.push_back({static_cast<int64_t>(i), pin->second});
  }
}

// More micro-batches make the bubble smaller and products less efficient: steps first fall, then rise. So the first
// number that is slower than its neighbour ends the search on that side.
std::vector<StagingEstimate> Staging::Estimates(bool is_only, std::optional<Seconds> below,
                                                Diagnostics& refused) const {
  std::vector<StagingEstimate> estimates;
  constexpr int64_t kStart = 4;  // Times `stages_`; the next smaller number if there is none.
  const std::vector<int64_t> counts = MicroBatchCounts();
  if (schedule_.stages_per_rank > 1 && (counts.empty() || counts.front() % stages_ != 0)) {
    refused.Add(RefusedCount());
    return estimates;
  }
  if (is_only && counts.size() == 1) return {{.micro_batches = counts.front()}};
  const auto more = absl::c_upper_bound(counts, kStart * stages_);
  const size_t start = more == counts.begin() ? 0 : static_cast<size_t>(more - counts.begin()) - 1;
  Diagnostics first;  // Errors of the first refused number; others have the same.
  const auto estimate = [&](int64_t count) {
    const auto& [planned, warnings] = plans_.Of(count, std::nullopt);
    Diagnostics own = warnings;
    std::optional<Seconds> step;
    if (planned.has_value()) {
      const Seconds work(absl::c_accumulate(planned->ops.seconds, 0.0) * static_cast<double>(count) /
                         static_cast<double>(stages_));
      if (below.has_value() && work * kSurely >= *below) {
        step = work;
      } else if (const std::optional<CutPlan> cut = Cut(planned->plan, planned->ops, own)) {
        step = cut->end;
      }
    }
    if (step.has_value()) {
      estimates.push_back({.micro_batches = count, .step = step});
    } else if (!first.has_errors()) {
      first = std::move(own);
    }
    return step;
  };
  // Estimates numbers on one side of the start while they are faster than their neighbours, skipping refused ones.
  // Returns whether one was faster.
  const std::optional<Seconds> at_start = estimate(counts[start]);
  const auto walk = [&](int step) {
    std::optional<Seconds> neighbor = at_start;
    bool is_faster = false;
    for (size_t i = start + static_cast<size_t>(step); i < counts.size(); i += static_cast<size_t>(step)) {
      const std::optional<Seconds> own = estimate(counts[i]);
      if (!own.has_value()) continue;
      if (neighbor.has_value() && *own >= *neighbor) break;
      is_faster = true;
      neighbor = own;
    }
    return is_faster;
  };
  if (!walk(+1)) walk(-1);
  if (estimates.empty()) refused.AddAll(first);
  return estimates;
}

Diagnostic Staging::RefusedCount() const {
  const std::string schedule = ir::PipelineScheduleName(schedule_);
  return Error(Code::kE0315, absl::StrCat("`", schedule, "` with ", StagesText(stages_), " takes a multiple of ",
                                          stages_, " micro-batches"))
      .At(pins_.settings.pipeline_schedule_span, "asked for here")
      .Note(absl::StrCat("ranks take ", stages_, " micro-batches through one of their stages, then through the next"))
      .Help(absl::StrCat("`micro_batches = ", 4 * stages_, "` if the batch has so many parts, or another schedule"));
}

void Staging::WarnOfBubble(PipelineOutcome& outcome) const {
  const Found& found = outcome.plan->found;
  if (found.plan.micro_batches >= stages_) return;
  if (options_.choose_micro_batches && MicroBatchCounts().back() >= stages_) return;
  const double bubble = PredictPipeline(found.program->parts, cluster_, options_.execution.overlaps).bubble;
  outcome.diagnostics.Add(
      Warning(Code::kW0609, absl::StrCat(StagesText(stages_), " for ", found.plan.micro_batches,
                                         found.plan.micro_batches == 1 ? " micro-batch" : " micro-batches"))
          .At(pins_.settings.stages_span,
              absl::StrFormat("stages are idle for %.0f%% of the time of their passes", 100 * bubble))
          .Help("`micro_batches` of several times `stages`, or `auto`"));
}

// The numbers of micro-batches to try, ascending; empty only where ranks have several stages, and no multiple of
// `stages_` divides the batch. Uneven parts make ranks wait, so numbers that do not divide the samples evenly are tried
// only if all others are less than `stages_`.
std::vector<int64_t> Staging::MicroBatchCounts() const {
  if (!options_.choose_micro_batches) return {options_.micro_batches};
  // Small models are faster with few micro-batches than with inefficient small ones.
  std::vector<int64_t> all = {1};
  for (int64_t count = 2; count < stages_; count *= 2) all.push_back(count);
  for (const int64_t times : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) all.push_back(stages_ * times);
  const int64_t samples = ir::BatchOf(graph_).value_or(1), ranks = plans_.machines().cluster.devices();
  std::vector<int64_t> even, divided;
  for (const int64_t count : all) {
    if (samples % count != 0) continue;
    even.push_back(count);
    const int64_t part = samples / count;
    if (part % ranks == 0 || ranks % part == 0) divided.push_back(count);
  }
  const auto is_enough = [&](const std::vector<int64_t>& own) { return !own.empty() && own.back() >= stages_; };
  std::vector<int64_t> counts;
  for (const int64_t count : is_enough(divided) ? divided : is_enough(even) ? even : all) {
    if (schedule_.stages_per_rank > 1 && count % stages_ != 0) continue;
    if (!ir::FindRefusal(graph_, count).has_value()) counts.push_back(count);
  }
  return counts;
}

// Tries a plan searched without a limit, then one for the memory of all groups of ranks together, and then for less,
// each also with recomputation by group. Plans for less memory are slower.
PipelineOutcome Staging::Fit(const StagingEstimate& estimate, std::optional<Seconds> below) const {
  constexpr int kMostTries = 4;  // Plans searched under a limit.
  constexpr double kMargin = 0.97;
  constexpr double kLittle = 1.02;  // Recomputation that costs less than this ends the search.
  constexpr double kFar = 1.5;      // A peak above so many limits gets no recomputation.
  std::optional<double> memory;     // The limit of the next plan's search; nullopt: none.
  std::optional<Bytes> least;
  std::optional<ir::Plan> tried;
  std::optional<Seconds> first;  // The step of the first pipeline, without recomputation.
  bool does_not_fit = false;
  PipelineOutcome outcome;
  std::optional<PipelinePlan>& best = outcome.plan;
  Diagnostics& diagnostics = outcome.diagnostics;
  const auto is_slower = [&](Seconds step) {
    return (best.has_value() && step >= best->step) || (below.has_value() && step >= *below);
  };
  double share = 1;  // By which the next limit is less than the last one.
  int left = kMostTries;
  const auto take_less = [&] {
    const double all = static_cast<double>(limit_->bytes.value()) * static_cast<double>(stages_);
    memory = memory.has_value() ? *memory * share : all;
    --left;
  };
  const auto is_far_from = [&](Bytes peak) {
    return static_cast<double>(peak.value()) > kFar * static_cast<double>(limit_->bytes.value());
  };
  if (limit_.has_value()) {
    const StagePlan* const known =
        estimate.step.has_value() ? &*plans_.Of(estimate.micro_batches, std::nullopt).plan : nullptr;
    if (known == nullptr || is_far_from(Bytes(known->peak.value() / stages_))) take_less();
  }
  while (left >= 0) {
    const auto& [planned, warnings] = plans_.Of(estimate.micro_batches, memory);
    Diagnostics own = warnings;
    if (!planned.has_value()) {
      const auto is_of_memory = [](const Diagnostic& diagnostic) { return diagnostic.code == Code::kE0313; };
      // Its errors about memory are about the whole model.
      does_not_fit = least.has_value() || absl::c_any_of(own.items(), is_of_memory);
      if (!does_not_fit) diagnostics = std::move(own);
      break;
    }
    if (tried.has_value() && tried->ops == planned->plan.ops) {
      take_less();
      continue;
    }
    tried = planned->plan;
    std::optional<CutPlan> cut = Cut(planned->plan, plans_.InAllLayers(*planned), own);
    does_not_fit = false;
    if (cut.has_value() && is_slower(cut->end * kSurely)) break;
    std::optional<PipelinePlan> candidate;
    if (cut.has_value()) candidate = Made(std::move(cut->plan), own);
    if (!candidate.has_value()) {
      if (!best.has_value()) diagnostics = std::move(own);
      break;
    }
    if (!first.has_value()) first = candidate->step;
    if (is_slower(candidate->step)) break;
    const Bytes peak = PeakOf(*candidate->found.program);
    if (!limit_.has_value() || peak <= limit_->bytes) {
      diagnostics = std::move(own);
      best = std::move(candidate);
      // A search under a limit compares plans by their programs, and may find a faster one.
      if (!limit_.has_value() || memory.has_value()) break;
      take_less();
      continue;
    }
    if (!least.has_value() || peak < *least) least = peak;
    does_not_fit = true;
    if (options_.recompute == ir::Recompute::kAuto && !is_far_from(peak)) {
      std::optional<PipelinePlan> thrifty = WithRecomputation(*candidate);
      if (thrifty.has_value() && !is_slower(thrifty->step)) {
        diagnostics = std::move(own);
        best = std::move(thrifty);
        if (best->step <= *first * kLittle) break;
      }
    }
    share = kMargin * static_cast<double>(limit_->bytes.value()) / static_cast<double>(peak.value());
    take_less();
  }
  if (does_not_fit && !best.has_value()) diagnostics.Add(NothingFits(least));
  if (best.has_value()) WarnOfBubble(outcome);
  return outcome;
}

// E0313. `least`: the least peak of the pipelines that were made.
Diagnostic Staging::NothingFits(std::optional<Bytes> least) const {
  Diagnostic error = Error(Code::kE0313, absl::StrCat("no pipeline of ", StagesText(stages_), " fits into ",
                                                      FormatBytes(limit_->bytes), " a device, ", limit_->source));
  if (limit_->span.is_somewhere()) std::move(error).At(limit_->span, "the limit");
  if (least.has_value()) {
    error.notes.push_back(
        absl::StrCat("the smallest that was found needs ", FormatBytes(*least), " on a rank of its largest stage"));
  }
  error.help.push_back("more devices, more stages, or more micro-batches");
  if (schedule_.order == ir::PipelineSchedule::kZeroBubble) {
    error.help.push_back("`pipeline_schedule = one_f_one_b`, under which later stages need less");
  }
  return error;
}

// The same cuts with the least recomputation with which each group of ranks fits; groups differ in their ops and in the
// number of micro-batches under way. nullopt where none was found.
std::optional<PipelinePlan> Staging::WithRecomputation(const PipelinePlan& candidate) const {
  constexpr int kMostTries = 4;
  const std::map<ir::OpId, ir::Retention> asked = AskedFor(pins_);
  ir::Plan kept = candidate.found.plan;
  for (ir::OpPlan& op : kept.ops) op.retention = ir::Retention::kKeep;
  kept = WithAsked(std::move(kept), asked);
  std::optional<ir::LoweredProgram> other;
  if (kept.ops != candidate.found.plan.ops) other = MustMake(graph_, kept, cluster_, options_.execution);
  const ir::LoweredProgram& whole = other.has_value() ? *other : *candidate.found.program;
  std::vector<std::unique_ptr<Recomputation>> choices;
  // By group of ranks: gaps in the arena and the workspace, plus a reserve.
  std::vector<Bytes> besides;
  for (const ir::PartProgram& part : whole.parts) {
    const Bytes peak = part.memory.use.prediction.peak;
    besides.emplace_back(limit_->bytes.value() / 64);
    std::unique_ptr<Recomputation>& choice = choices.emplace_back();
    if (peak <= limit_->bytes) continue;
    choice =
        std::make_unique<Recomputation>(whole.distributed, part.program, part.memory, cluster_, asked, options_.tuning);
    besides.back() += peak - choice->PeakAsAsked();
  }
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto cheapest = [&](size_t part) {
      return choices[part] == nullptr ? std::optional(RecomputeChoice())
                                      : choices[part]->Cheapest(limit_->bytes - besides[part]);
    };
    ir::Plan plan = kept;
    for (const std::optional<RecomputeChoice>& choice : MapInParallel(choices.size(), cheapest)) {
      if (!choice.has_value()) return std::nullopt;
      Apply(*choice, plan);
    }
    ir::LoweredProgram program = MustMake(graph_, plan, cluster_, options_.execution);
    bool fits = true;
    for (size_t part = 0; part < choices.size(); ++part) {
      const Bytes excess = program.parts[part].memory.use.prediction.peak - limit_->bytes;
      if (excess <= Bytes(0)) continue;
      if (choices[part] == nullptr) return std::nullopt;
      besides[part] += excess * (tries + 1) + Bytes(limit_->bytes.value() / 256);
      fits = false;
    }
    if (!fits) continue;
    const Seconds step = StepOf(program, cluster_, options_.execution);
    return PipelinePlan{.found = {.plan = std::move(plan), .program = std::move(program)}, .step = step};
  }
  return std::nullopt;
}

std::optional<Staging::CutPlan> Staging::Cut(const ir::Plan& plan, CutTask task, Diagnostics& diagnostics) const {
  task.stages = static_cast<int>(StagesInAll());
  const int64_t micro_batches = plan.micro_batches;
  // A rank with several stages runs a pass of each for a micro-batch; the first passes wait as with one stage.
  task.micro_batches = std::max<int64_t>(1, schedule_.stages_per_rank * (micro_batches - stages_) + stages_);
  task.ranges = RangesOf(pinned_, static_cast<int64_t>(forward_.size()), task.stages);
  task.places = NarrowPlaces(task.places, pinned_.empty() ? std::vector<CutRange>() : task.ranges);
  const std::optional<Way> way = FastestCuts(std::move(task), micro_batches);
  if (!way.has_value()) {
    diagnostics.Add(NoPipeline(absl::StrCat("the model cannot be cut into ", StagesText(StagesInAll())),
                               pins_.settings.stages_span, "more than it has places for cuts"));
    return std::nullopt;
  }
  std::vector<ir::OpId> first;
  for (const int64_t cut : way->cuts) first.push_back(forward_[static_cast<size_t>(cut)]);
  absl::StatusOr<ir::Plan> staged =
      ir::WithStages(plan, plans_.machines().axis, schedule_, ir::StagesOf(graph_, first));
  CLEAVE_CHECK(staged.ok()) << staged.status();
  staged->cluster = cluster_.name;
  return CutPlan{.plan = *std::move(staged), .end = way->end};
}

std::optional<PipelinePlan> Staging::Made(ir::Plan plan, Diagnostics& diagnostics) const {
  absl::StatusOr<ir::LoweredProgram> program = ProgramOf(graph_, plan, cluster_, options_.execution);
  if (!program.ok()) {
    diagnostics.Add(NoProgram(pins_, plan, program.status()));
    return std::nullopt;
  }
  const Seconds step = StepOf(*program, cluster_, options_.execution);
  return PipelinePlan{.found = {.plan = std::move(plan), .program = *std::move(program)}, .step = step};
}

// The cuts with the fastest simulated step, of those that are best by formula for several shares of waiting, and of
// those with the fastest slowest stage. nullopt where the model cannot be cut so.
std::optional<Staging::Way> Staging::FastestCuts(CutTask task, int64_t micro_batches) const {
  std::optional<Way> fastest;
  std::set<std::vector<int64_t>> tried;
  const auto offer = [&](std::vector<int64_t> cuts) {
    if (static_cast<int64_t>(cuts.size()) + 1 != StagesInAll() || !tried.insert(cuts).second) return;
    const Seconds end = EndOf(task, cuts, micro_batches);
    if (!fastest.has_value() || end < fastest->end) fastest = {std::move(cuts), end};
  };
  for (const double waiting : {1.0, 0.5, 0.0}) {
    task.waiting = waiting;
    offer(BestCuts(task));
  }
  offer(CutsOfLeastSlowest(task));
  return fastest;
}

// The simulated step: all passes, and what is done once.
Seconds Staging::EndOf(const CutTask& task, const std::vector<int64_t>& cuts, int64_t micro_batches) const {
  PassTask passes{.schedule = schedule_, .micro_batches = micro_batches, .stages = {}, .messages = {}};
  std::vector<Seconds> once(static_cast<size_t>(stages_), Seconds(0));
  size_t op = 0;
  for (int stage = 0; stage < task.stages; ++stage) {
    const bool is_last = stage + 1 == task.stages;
    const auto end =
        static_cast<size_t>(is_last ? static_cast<int64_t>(forward_.size()) : cuts[static_cast<size_t>(stage)]);
    double seconds = 0, backward = 0;
    for (; op < end; ++op) {
      seconds += task.seconds[op];
      backward += task.backward[op];
      once[static_cast<size_t>(stage % stages_)] += Seconds(task.once[op]);
    }
    const double weights = schedule_.order == ir::PipelineSchedule::kZeroBubble ? backward * kOfWeights : 0;
    passes.stages.push_back(
        {.forward = Seconds(seconds - backward), .backward = Seconds(backward - weights), .weights = Seconds(weights)});
    if (is_last) break;
    const auto place =
        absl::c_find_if(task.places, [&](const CutPlace& own) { return own.op == static_cast<int64_t>(end); });
    const Seconds sent(place->seconds / kThereAndBack);
    passes.messages.push_back({.from = stage, .to = stage + 1, .kind = ir::PassKind::kForward, .seconds = sent});
    passes.messages.push_back({.from = stage + 1, .to = stage, .kind = ir::PassKind::kBackward, .seconds = sent});
  }
  return search::EndOf(RunPasses(passes), once);
}

}  // namespace cleave::search
