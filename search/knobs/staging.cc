// Reading guide: Estimates looks for numbers of micro-batches, Fit makes a pipeline with one of them that fits into
// memory, and Cut makes a pipeline of a plan.
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

// The gradients of weights take about so much of a backward pass: of each product two are made, one for its weight.
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

// With more micro-batches the bubble gets smaller, until products are too small to be fast: so times fall and then
// rise, and what is slower than its neighbour ends the search on that side.
std::vector<StagingEstimate> Staging::Estimates(bool is_only, std::optional<Seconds> below,
                                                Diagnostics& refused) const {
  std::vector<StagingEstimate> estimates;
  constexpr int64_t kStart = 4;  // Times the stages, or the next fewer.
  const std::vector<int64_t> counts = MicroBatchCounts();
  if (schedule_.stages_per_rank > 1 && (counts.empty() || counts.front() % stages_ != 0)) {
    refused.Add(RefusedCount());
    return estimates;
  }
  if (is_only && counts.size() == 1) return {{.micro_batches = counts.front()}};
  const auto more = absl::c_upper_bound(counts, kStart * stages_);
  const size_t start = more == counts.begin() ? 0 : static_cast<size_t>(more - counts.begin()) - 1;
  Diagnostics first;  // Refusal, because the others say the same.
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
  // Those on one side of the start, while they are faster than their neighbours. Refused ones say nothing. Returns
  // whether there was a faster one.
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

// Ascending. Empty only where each rank has several stages, and the batch cannot be taken in a multiple of `stages_`.
// Where some parts, or some ranks, have a sample more than others, all wait for these: such numbers are tried only
// where fewer than the stages are all others.
std::vector<int64_t> Staging::MicroBatchCounts() const {
  if (!options_.choose_micro_batches) return {options_.micro_batches};
  // Small models take less time with few than with parts that are too small to be fast.
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

// First the plan for which memory is no matter, then one for the memory that all stages have together, and then for
// less, each also with recomputation chosen for its stages. Plans for less memory are slower.
PipelineOutcome Staging::Fit(const StagingEstimate& estimate, std::optional<Seconds> below) const {
  constexpr int kMostTries = 4;  // For less memory than all that it takes.
  constexpr double kMargin = 0.97;
  constexpr double kLittle = 1.02;  // What plans for less memory can win is not worth looking for.
  constexpr double kFar = 1.5;      // A plan that takes so much more than there is gets no recomputation.
  std::optional<double> memory;     // For which the next plan is searched; none: as much as it takes.
  std::optional<Bytes> least;
  std::optional<ir::Plan> tried;
  std::optional<Seconds> first;  // What a step of the first plan takes, before it is made to fit.
  bool does_not_fit = false;
  PipelineOutcome outcome;
  std::optional<PipelinePlan>& best = outcome.plan;
  Diagnostics& said = outcome.diagnostics;
  const auto is_slower = [&](Seconds step) {
    return (best.has_value() && step >= best->step) || (below.has_value() && step >= *below);
  };
  double share = 1;  // Of the memory that the last plan was made for.
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
      // What it says of memory is about all stages together.
      does_not_fit = least.has_value() || absl::c_any_of(own.items(), is_of_memory);
      if (!does_not_fit) said = std::move(own);
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
      if (!best.has_value()) said = std::move(own);
      break;
    }
    if (!first.has_value()) first = candidate->step;
    if (is_slower(candidate->step)) break;
    const Bytes peak = PeakOf(*candidate->found.program);
    if (!limit_.has_value() || peak <= limit_->bytes) {
      said = std::move(own);
      best = std::move(candidate);
      // Where memory is looked at, several plans are measured, of which another one may be the fastest.
      if (!limit_.has_value() || memory.has_value()) break;
      take_less();
      continue;
    }
    if (!least.has_value() || peak < *least) least = peak;
    does_not_fit = true;
    if (options_.recompute == ir::Recompute::kAuto && !is_far_from(peak)) {
      std::optional<PipelinePlan> thrifty = WithRecomputation(*candidate);
      if (thrifty.has_value() && !is_slower(thrifty->step)) {
        said = std::move(own);
        best = std::move(thrifty);
        if (best->step <= *first * kLittle) break;
      }
    }
    share = kMargin * static_cast<double>(limit_->bytes.value()) / static_cast<double>(peak.value());
    take_less();
  }
  if (does_not_fit && !best.has_value()) said.Add(NothingFits(least));
  if (best.has_value()) WarnOfBubble(outcome);
  return outcome;
}

// `least`: what the smallest plan needs that was found.
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

// The same cut, with the least recomputation with which each part of the ranks stays within the limit: it has its own
// stages, and its own number of micro-batches under way. nullopt where none was found.
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
  // What a program takes besides the values that are live; a little more is left at first.
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
  // A rank with several stages does a pass of each for a micro-batch; the first ones wait for as many as without.
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

// Of the cuts that are best by formula, for several shares of waiting, and of those with the fastest slowest stage,
// the ones with which a step ends first. nullopt where there are none.
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

// When the passes of all micro-batches have run, and what is done once.
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
