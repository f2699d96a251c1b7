// Reading guide: InAnyStages tries numbers of stages, Staging::Search one of them with several numbers of
// micro-batches, and Staging::Cut makes a pipeline of a plan.
#include "search/pipeline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"
#include "base/parallel/parallel.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/cost/pipeline.h"
#include "search/cost/predict.h"
#include "search/cost/time.h"
#include "search/memory/measured.h"
#include "search/memory/memory.h"
#include "search/recompute/recompute.h"
#include "search/stages/stages.h"

namespace cleave::search {
namespace {

// A plan, its program, and how long a step takes.
struct Candidate {
  Found found;
  Seconds step{0};
};

Diagnostic Refused(const std::string& what, Span place, const std::string& why) {
  return Error(Code::kE0317, what).At(place, why);
}

std::string StagesText(int64_t stages) { return Plural(stages, "stage"); }

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
    diagnostics.Add(Refused("a manual model cannot be a pipeline", place, "asked for here"));
  } else if (!pins.regions.empty()) {
    diagnostics.Add(Refused("a model with regions cannot be a pipeline", place, "asked for here"));
  } else if (std::any_of(pins.settings.mesh.begin(), pins.settings.mesh.end(),
                         [](const ir::NamedAxis& axis) { return axis.name == ir::kStageAxis; })) {
    diagnostics.Add(Refused(absl::StrCat("`", ir::kStageAxis, "` is the mesh axis of the stages themselves"),
                            pins.settings.mesh_span, "another axis of this name"));
  }
  return !diagnostics.has_errors();
}

// The arguments of SearchPipeline.
struct PipelineTask {
  const ir::Graph& graph;
  const Cluster& cluster;
  const ir::Pins& pins;
  const SearchOptions& options;
};

class Staging {
 public:
  Staging(const PipelineTask& task, int64_t stages, ir::PipelineSchedule schedule, StageMachines machines)
      : graph_(task.graph),
        cluster_(task.cluster),
        pins_(task.pins),
        options_(task.options),
        stages_(stages),
        schedule_(schedule),
        machines_(std::move(machines)),
        limit_(MemoryLimitOf(pins_.settings, cluster_)) {
    std::map<ir::OpId, int64_t> pins_of;
    for (const ir::StagePin& pin : pins_.stages) pins_of[pin.op] = pin.stage;
    for (const ir::Op& op : graph_.ops) {
      const bool is_source = ir::DefinitionOf(op.kind).op_class == ir::OpClass::kSource;
      if (op.phase != ir::Phase::kForward || is_source) continue;
      const auto pin = pins_of.find(op.id);
      if (pin != pins_of.end()) pinned_.push_back({static_cast<int64_t>(forward_.size()), pin->second});
      forward_.push_back(op.id);
    }
  }

  // The fastest of the numbers of micro-batches, if a step takes less than `below`; nullopt where there is none, after
  // errors where none fits. With more micro-batches the bubble gets smaller, until products are too small to be fast:
  // so times fall and then rise, and what is slower than its neighbour ends the search on that side.
  std::optional<Candidate> Search(std::optional<Seconds> below, Diagnostics& diagnostics) const {
    constexpr int64_t kStart = 16;  // Times the stages, or the next fewer.
    const std::vector<int64_t> counts = MicroBatchCounts();
    if (StagesPerRank() > 1 && (counts.empty() || counts.front() % stages_ != 0)) {
      diagnostics.Add(RefusedCount());
      return std::nullopt;
    }
    const auto more = absl::c_upper_bound(counts, kStart * stages_);
    const size_t start = more == counts.begin() ? 0 : static_cast<size_t>(more - counts.begin()) - 1;
    std::optional<Candidate> best;
    Diagnostics refusals, warnings;
    enum class Tried { kIsFaster, kIsSlower, kIsRefused };
    std::optional<Seconds> neighbor;
    const auto try_count = [&](size_t i) {
      Diagnostics own;
      Attempt attempt = Fit(counts[i], best.has_value() ? best->step : below, own);
      if (own.has_errors()) {
        if (!refusals.has_errors()) refusals = std::move(own);
        return Tried::kIsRefused;
      }
      const std::optional<Seconds> before = std::exchange(neighbor, attempt.step);
      const bool is_best = attempt.candidate.has_value();
      if (is_best) {
        best = std::move(attempt.candidate);
        warnings = std::move(own);
      }
      return is_best || (before.has_value() && attempt.step < before) ? Tried::kIsFaster : Tried::kIsSlower;
    };
    try_count(start);
    const std::optional<Seconds> at_start = neighbor;
    bool is_above = false;
    for (size_t i = start + 1; i < counts.size(); ++i) {
      const Tried tried = try_count(i);
      if (tried == Tried::kIsSlower) break;
      is_above = is_above || tried == Tried::kIsFaster;
    }
    neighbor = at_start;
    for (size_t i = start; !is_above && i-- > 0;) {
      if (try_count(i) == Tried::kIsSlower) break;
    }
    if (best.has_value()) {
      diagnostics.AddAll(warnings);
      WarnOfBubble(*best, diagnostics);
    } else {
      diagnostics.AddAll(refusals);
    }
    return best;
  }

 private:
  // Each of `stages_` parts of the ranks has so many.
  int64_t StagesPerRank() const { return schedule_.stages_per_rank; }
  int64_t StagesInAll() const { return stages_ * StagesPerRank(); }

  Diagnostic RefusedCount() const {
    const std::string schedule = ir::PipelineScheduleName(schedule_);
    return Error(Code::kE0315, absl::StrCat("`", schedule, "` with ", StagesText(stages_), " takes a multiple of ",
                                            stages_, " micro-batches"))
        .At(pins_.settings.pipeline_schedule_span, "asked for here")
        .Note(absl::StrCat("ranks take ", stages_, " micro-batches through one of their stages, then through the next"))
        .Help(absl::StrCat("`micro_batches = ", 4 * stages_, "` if the batch has so many parts, or another schedule"));
  }

  void WarnOfBubble(const Candidate& best, Diagnostics& diagnostics) const {
    if (best.found.plan.micro_batches >= stages_) return;
    if (options_.choose_micro_batches && MicroBatchCounts().back() >= stages_) return;
    const double bubble = PredictPipeline(best.found.program->parts, cluster_, options_.execution.overlaps).bubble;
    diagnostics.Add(
        Warning(Code::kW0609, absl::StrCat(StagesText(stages_), " for ", best.found.plan.micro_batches,
                                           best.found.plan.micro_batches == 1 ? " micro-batch" : " micro-batches"))
            .At(pins_.settings.stages_span,
                absl::StrFormat("stages are idle for %.0f%% of the time of their passes", 100 * bubble))
            .Help("`micro_batches` of several times `stages`, or `auto`"));
  }

  // Ascending. Empty only where each rank has several stages, and the batch cannot be taken in a multiple of `stages_`.
  // Where some parts, or some ranks, have a sample more than others, all wait for these: such numbers are tried only
  // where fewer than the stages are all others.
  std::vector<int64_t> MicroBatchCounts() const {
    if (!options_.choose_micro_batches) return {options_.micro_batches};
    // Small models take less time with few than with parts that are too small to be fast.
    std::vector<int64_t> all = {1};
    for (int64_t count = 2; count < stages_; count *= 2) all.push_back(count);
    for (const int64_t times : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) all.push_back(stages_ * times);
    const int64_t samples = ir::BatchOf(graph_).value_or(1), ranks = machines_.cluster.devices();
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
      if (StagesPerRank() > 1 && count % stages_ != 0) continue;
      if (!ir::FindRefusal(graph_, count).has_value()) counts.push_back(count);
    }
    return counts;
  }

  // What came of a number of micro-batches.
  struct Attempt {
    std::optional<Candidate> candidate = {};
    std::optional<Seconds> step = {};  // Of the first plan, before it was made to fit.
  };

  // A plan of the ranks of one stage, made for the memory that all stages have together, and then for less, each also
  // with recomputation chosen for its stages. None after errors, and, without one, where a step takes no less than
  // `below`: plans for less memory are slower.
  Attempt Fit(int64_t micro_batches, std::optional<Seconds> below, Diagnostics& diagnostics) const {
    constexpr int kMostTries = 4;
    constexpr double kMargin = 0.97;
    constexpr double kLittle = 1.02;  // What plans for less memory can win is not worth looking for.
    std::optional<double> shared;
    if (limit_.has_value()) shared = static_cast<double>(limit_->bytes.value()) * static_cast<double>(stages_);
    std::optional<Bytes> least;
    std::optional<ir::Plan> tried;
    double share = 1;  // Of the memory that the last plan was made for.
    bool does_not_fit = false;
    Diagnostics said;  // Of the candidate, or why there is none.
    Attempt attempt;
    const auto is_slower = [&](const Candidate& candidate) {
      const bool than_best = attempt.candidate.has_value() && candidate.step >= attempt.candidate->step;
      return than_best || (below.has_value() && candidate.step >= *below);
    };
    for (int tries = 0; tries < kMostTries; ++tries) {
      Diagnostics own;
      const std::optional<Found> found = PlanOfStage(micro_batches, shared, own);
      if (!found.has_value()) {
        const auto is_of_memory = [](const Diagnostic& diagnostic) { return diagnostic.code == Code::kE0313; };
        // What it says of memory is about all stages together.
        does_not_fit = least.has_value() || absl::c_any_of(own.items(), is_of_memory);
        if (!does_not_fit) said = std::move(own);
        break;
      }
      if (tried.has_value() && tried->ops == found->plan.ops) {
        shared = *shared * share;
        continue;
      }
      tried = found->plan;
      std::optional<Candidate> candidate = Cut(*found, own);
      if (!candidate.has_value()) {
        does_not_fit = false;
        if (!attempt.candidate.has_value()) said = std::move(own);
        break;
      }
      if (!attempt.step.has_value()) attempt.step = candidate->step;
      if (is_slower(*candidate)) {
        does_not_fit = false;
        break;
      }
      const Bytes peak = candidate->found.program->memory.use.prediction.peak;
      if (!limit_.has_value() || peak <= limit_->bytes) {
        said = std::move(own);
        attempt.candidate = std::move(candidate);
        break;
      }
      if (!least.has_value() || peak < *least) least = peak;
      does_not_fit = true;
      if (options_.recompute == ir::Recompute::kAuto) {
        std::optional<Candidate> thrifty = WithRecomputation(*candidate);
        if (thrifty.has_value() && !is_slower(*thrifty)) {
          said = std::move(own);
          attempt.candidate = std::move(thrifty);
          if (attempt.candidate->step <= *attempt.step * kLittle) break;
        }
      }
      share = kMargin * static_cast<double>(limit_->bytes.value()) / static_cast<double>(peak.value());
      shared = *shared * share;
    }
    diagnostics.AddAll(said);
    if (does_not_fit && !attempt.candidate.has_value()) diagnostics.Add(NothingFits(least));
    return attempt;
  }

  // `least`: what the smallest plan needs that was found.
  Diagnostic NothingFits(std::optional<Bytes> least) const {
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
  std::optional<Candidate> WithRecomputation(const Candidate& candidate) const {
    constexpr int kMostTries = 4;
    const std::map<ir::OpId, ir::Retention> asked = AskedFor(pins_);
    ir::Plan kept = candidate.found.plan;
    for (ir::OpPlan& op : kept.ops) op.retention = ir::Retention::kKeep;
    kept = WithAsked(std::move(kept), asked);
    const PlannedProgram whole = MustMake(graph_, kept, options_.execution);
    std::vector<std::unique_ptr<Recomputation>> choices;
    // What a program takes besides the values that are live; a little more is left at first.
    std::vector<Bytes> besides;
    for (const ir::PartProgram& part : whole.parts) {
      const Bytes peak = part.memory.use.prediction.peak;
      besides.emplace_back(limit_->bytes.value() / 64);
      std::unique_ptr<Recomputation>& choice = choices.emplace_back();
      if (peak <= limit_->bytes) continue;
      choice = std::make_unique<Recomputation>(whole.distributed, part.program, part.memory, cluster_, asked,
                                               options_.tuning);
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
      PlannedProgram program = MustMake(graph_, plan, options_.execution);
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
      return Candidate{.found = {.plan = std::move(plan), .program = std::move(program)}, .step = step};
    }
    return std::nullopt;
  }

  // What is sent between stages, and its gradient.
  static constexpr double kThereAndBack = 2;
  static constexpr double kMostMemory = 1e18;  // Bytes: more than any cluster has.

  std::optional<Found> PlanOfStage(int64_t micro_batches, std::optional<double> memory,
                                   Diagnostics& diagnostics) const {
    ir::Pins pins = pins_;
    pins.settings.stages = 1;
    pins.stages.clear();
    pins.settings.devices = std::nullopt;
    if (memory.has_value()) {
      pins.settings.memory =
          ir::Placed<int64_t>{.value = static_cast<int64_t>(std::min(*memory, kMostMemory)), .span = limit_->span};
    }
    SearchOptions options = options_;
    options.micro_batches = micro_batches;
    options.choose_micro_batches = false;
    return SearchForProgram(graph_, machines_.cluster, pins, options, diagnostics);
  }

  std::optional<Candidate> Cut(const Found& found, Diagnostics& diagnostics) const {
    ir::Plan plan = found.plan;
    // The order in which steps take least memory is that of all of them.
    plan.moves_steps = false;
    for (ir::OpPlan& op : plan.ops) {
      if (op.retention == ir::Retention::kOffload) op.retention = ir::Retention::kKeep;
    }
    const bool is_made =
        found.program.has_value() && plan.ops == found.plan.ops && plan.moves_steps == found.plan.moves_steps;
    absl::StatusOr<PlannedProgram> other;
    if (!is_made) other = ProgramOf(graph_, plan, options_.execution);
    if (!is_made && !other.ok()) return NoProgram(plan, other.status(), diagnostics);
    const std::vector<int64_t> cuts = FastestCuts(TaskOf(plan, is_made ? *found.program : *other), plan.micro_batches);
    if (static_cast<int64_t>(cuts.size()) + 1 != StagesInAll()) {
      diagnostics.Add(Refused(absl::StrCat("the model cannot be cut into ", StagesText(StagesInAll())),
                              pins_.settings.stages_span, "more than it has places for cuts"));
      return std::nullopt;
    }
    std::vector<ir::OpId> first;
    for (const int64_t cut : cuts) first.push_back(forward_[static_cast<size_t>(cut)]);
    absl::StatusOr<ir::Plan> staged =
        ir::WithStages(std::move(plan), machines_.axis, schedule_, ir::StagesOf(graph_, first));
    CLEAVE_CHECK(staged.ok()) << staged.status();
    staged->cluster = cluster_.name;
    absl::StatusOr<PlannedProgram> program = ProgramOf(graph_, *staged, options_.execution);
    if (!program.ok()) return NoProgram(*staged, program.status(), diagnostics);
    const Seconds step = StepOf(*program, cluster_, options_.execution);
    return Candidate{.found = {.plan = *std::move(staged), .program = *std::move(program)}, .step = step};
  }

  // Where samples are one dimension with others, some plans cannot take a batch in every number of parts.
  std::nullopt_t NoProgram(const ir::Plan& plan, const absl::Status& status, Diagnostics& diagnostics) const {
    CLEAVE_CHECK(absl::IsInvalidArgument(status)) << status;
    diagnostics.Add(Error(Code::kE0315, absl::StrCat("the batch cannot be taken in ", plan.micro_batches,
                                                     " micro-batches by the ranks of a stage"))
                        .At(pins_.settings.micro_batches_span, "asked for here")
                        .Note(std::string(status.message()))
                        .Help("another number of micro-batches, or `auto`"));
    return std::nullopt;
  }

  // Of the cuts that are best by formula, and of those with the fastest slowest stage, the ones with which the passes
  // end first.
  std::vector<int64_t> FastestCuts(const CutTask& task, int64_t micro_batches) const {
    std::vector<int64_t> cuts = BestCuts(task);
    const std::vector<int64_t> others = CutsOfLeastSlowest(task);
    const bool is_slower = !cuts.empty() && EndOf(task, others, micro_batches) < EndOf(task, cuts, micro_batches);
    return is_slower ? others : cuts;
  }

  // When the passes of all micro-batches have run, and what is done once.
  Seconds EndOf(const CutTask& task, const std::vector<int64_t>& cuts, int64_t micro_batches) const {
    PassTask passes{.schedule = schedule_, .micro_batches = micro_batches, .stages = {}, .messages = {}};
    std::vector<double> once(static_cast<size_t>(stages_), 0.0);
    size_t op = 0;
    for (int stage = 0; stage < task.stages; ++stage) {
      const bool is_last = stage + 1 == task.stages;
      const auto end =
          static_cast<size_t>(is_last ? static_cast<int64_t>(forward_.size()) : cuts[static_cast<size_t>(stage)]);
      double seconds = 0, backward = 0;
      for (; op < end; ++op) {
        seconds += task.seconds[op];
        backward += task.backward[op];
        once[static_cast<size_t>(stage % stages_)] += task.once[op];
      }
      passes.stages.push_back({.forward = Seconds(seconds - backward), .backward = Seconds(backward)});
      if (is_last) break;
      const auto place =
          absl::c_find_if(task.places, [&](const CutPlace& own) { return own.op == static_cast<int64_t>(end); });
      const Seconds sent(place->seconds / kThereAndBack);
      passes.messages.push_back({.from = stage, .to = stage + 1, .kind = ir::PassKind::kForward, .seconds = sent});
      passes.messages.push_back({.from = stage + 1, .to = stage, .kind = ir::PassKind::kBackward, .seconds = sent});
    }
    Seconds end{0};
    for (const PassTime& pass : RunPasses(passes)) {
      end = std::max(end, pass.end + Seconds(once[static_cast<size_t>(pass.stage % stages_)]));
    }
    return end;
  }

  // Times of forward ops with their backward ops, for one micro-batch, and with their updates, for a step, under the
  // plan of a stage's ranks.
  CutTask TaskOf(const ir::Plan& plan, const PlannedProgram& whole) const {
    const ir::Program& program = whole.program;
    const ir::Fusion& fusion = whole.memory.fusion;
    const std::vector<Seconds> times = StageTimes(program, fusion, machines_.cluster);
    // Were each forward op a stage, this is the one in which the others are.
    const IdVector<ir::OpId, int> place = ir::StagesOf(graph_, {forward_.begin() + 1, forward_.end()});
    CutTask task{.seconds = std::vector<double>(forward_.size(), 0.0),
                 .backward = std::vector<double>(forward_.size(), 0.0),
                 .once = std::vector<double>(forward_.size(), 0.0),
                 .places = {},
                 .stages = static_cast<int>(StagesInAll())};
    for (size_t i = 0; i < fusion.stages.size(); ++i) {
      const ir::FusedStage& stage = fusion.stages[i];
      if (stage.phase == ir::Phase::kMetric) continue;
      const bool is_once = stage.repeat != ir::Repeat::kEach || stage.phase == ir::Phase::kUpdate;
      std::vector<double>& of_op = is_once ? task.once : task.seconds;
      // What several gradients are sent with belongs to all of them.
      std::vector<std::pair<size_t, double>> parts;
      double all = 0;
      for (const int step : ir::StepsOf(stage)) {
        for (const ir::ValueId value : ir::Writes(program.steps[static_cast<size_t>(step)])) {
          const int at = place[whole.distributed.originals[program.value(value).origin]];
          const auto bytes = static_cast<double>(ir::LargestLocalBytes(program, value).value());
          parts.emplace_back(at, bytes);
          all += bytes;
        }
      }
      if (all == 0) continue;
      for (const auto& [at, bytes] : parts) {
        const double seconds = times[i].value() * bytes / all;
        of_op[at] += seconds;
        if (!is_once && stage.phase == ir::Phase::kBackward) task.backward[at] += seconds;
      }
    }
    // A rank with several stages does a pass of each for a micro-batch; the first ones wait for as many as without.
    task.micro_batches = std::max<int64_t>(1, StagesPerRank() * (plan.micro_batches - stages_) + stages_);
    task.ranges = RangesOf(pinned_, static_cast<int64_t>(forward_.size()), task.stages);
    task.places = NarrowPlaces(CrossingOf(plan), pinned_.empty() ? std::vector<CutRange>() : task.ranges);
    return task;
  }

  // For each place between two forward ops: the time to send what is made before it and read behind it, as often as it
  // has a gradient that comes back.
  std::vector<CutPlace> CrossingOf(const ir::Plan& plan) const {
    std::map<ir::OpId, int64_t> place, last;
    for (size_t i = 0; i < forward_.size(); ++i) place[forward_[i]] = static_cast<int64_t>(i);
    for (const ir::OpId reader : forward_) {
      for (const ir::OpId input : graph_.op(reader).inputs) last[input] = std::max(last[input], place[reader]);
    }
    std::vector<double> change(forward_.size() + 1, 0.0);
    for (const ir::OpId op : forward_) {
      if (last.count(op) == 0 || last[op] <= place[op]) continue;
      const double seconds = SendSeconds(plan, op);
      change[static_cast<size_t>(place[op]) + 1] += seconds;
      change[static_cast<size_t>(last[op]) + 1] -= seconds;
    }
    std::vector<CutPlace> crossing;
    double seconds = 0;
    for (size_t i = 1; i < forward_.size(); ++i) {
      seconds += change[i];
      crossing.push_back({.op = static_cast<int64_t>(i), .seconds = std::max(0.0, seconds)});
    }
    return crossing;
  }

  double SendSeconds(const ir::Plan& plan, ir::OpId id) const {
    const ir::Op& op = graph_.op(id);
    const ir::Layout layout = ir::OutputLayout(plan.ops[id].strategy, ir::RuleOf(graph_, op));
    const Bytes bytes = ir::LargestLocalBytes(layout, plan.mesh, op.type);
    const auto mesh = ir::Mesh::Create({machines_.axis});
    const Seconds seconds = CollectiveSeconds(cluster_, *mesh, ir::CollectiveKind::kSendReceive, {ir::AxisId(0)},
                                              Bytes(bytes.value() / plan.micro_batches));
    return kThereAndBack * seconds.value();
  }

  const ir::Graph& graph_;
  const Cluster& cluster_;
  const ir::Pins& pins_;
  const SearchOptions& options_;
  const int64_t stages_;  // Parts of the ranks; each has as many stages as the schedule says.
  const ir::PipelineSchedule schedule_;
  const StageMachines machines_;
  const std::optional<MemoryLimit> limit_;
  std::vector<ir::OpId> forward_;  // The ops that are cut into stages.
  std::vector<PinnedOp> pinned_;   // Those of which the user says in which.
};

// The fastest of the schedules, if a step takes less than `below`. nullopt where there is none, after errors where none
// fits.
std::optional<Candidate> InAnyOrder(const PipelineTask& task, int64_t stages, const StageMachines& machines,
                                    std::optional<Seconds> below, Diagnostics& diagnostics) {
  std::optional<Candidate> best;
  Diagnostics said, refusals;
  for (const ir::PipelineSchedule& schedule : SchedulesOf(task.pins)) {
    Diagnostics own;
    std::optional<Candidate> found =
        Staging(task, stages, schedule, machines).Search(best.has_value() ? best->step : below, own);
    if (found.has_value()) {
      best = std::move(found);
      said = std::move(own);
    } else if (!refusals.has_errors()) {
      refusals = std::move(own);
    }
  }
  diagnostics.AddAll(best.has_value() ? said : refusals);
  return best;
}

std::optional<Found> InStages(const PipelineTask& task, int64_t stages, Diagnostics& diagnostics) {
  if (!CheckModel(task.graph, task.pins, diagnostics)) return std::nullopt;
  const int64_t per_rank = SchedulesOf(task.pins).front().stages_per_rank;
  if (!CheckStagePins(task.graph, task.pins, stages * per_rank, diagnostics)) return std::nullopt;
  const std::optional<StageMachines> machines = MachinesOfStage(task.cluster, stages);
  if (!machines.has_value()) {
    diagnostics.Add(Refused(absl::StrCat(Plural(task.cluster.devices(), "device"), " cannot be divided into ",
                                         StagesText(stages), " of equal size along their links"),
                            task.pins.settings.stages_span, "asked for here"));
    return std::nullopt;
  }
  std::optional<Candidate> found = InAnyOrder(task, stages, *machines, std::nullopt, diagnostics);
  return found.has_value() ? std::optional(std::move(found->found)) : std::nullopt;
}

// Where the number of stages is to be found, more than these are not tried, nor more after so many in a row of which
// none was faster than what was known.
constexpr int64_t kMostTried = 64;
constexpr int kMostSlower = 3;

// A plan without stages. Pipelines are compared with what it is predicted to take, of which the price of a search is
// not a measure to the last percent, so data parallelism is looked at beside what the search finds.
std::optional<Candidate> WithoutStages(const PipelineTask& task, const ir::Pins& flat, Diagnostics& diagnostics) {
  std::optional<Candidate> best;
  const auto try_plan = [&](const SearchOptions& options, Diagnostics& own) {
    std::optional<Found> found = SearchForProgram(task.graph, task.cluster, flat, options, own);
    if (!found.has_value()) return false;
    if (!found->program.has_value()) found->program = MustMake(task.graph, found->plan, options.execution);
    const Seconds step = StepOf(*found->program, task.cluster, options.execution);
    if (best.has_value() && step >= best->step) return false;
    best = Candidate{.found = *std::move(found), .step = step};
    return true;
  };
  if (!try_plan(task.options, diagnostics) || task.options.algorithm != ir::SearchAlgorithm::kSapp) return best;
  SearchOptions data_parallel = task.options;
  data_parallel.algorithm = ir::SearchAlgorithm::kDataParallel;
  Diagnostics own;
  if (try_plan(data_parallel, own)) diagnostics = std::move(own);
  return best;
}

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
  std::optional<Candidate> best;
  Diagnostics refusals, said;
  if (fewest > 1) {
    refusals.Add(Refused(absl::StrCat(Plural(cluster.devices(), "device"), " cannot be divided into ", fewest,
                                      " or more stages of equal size along their links"),
                         pins.stages.back().span, "asked for here"));
  } else {
    best = WithoutStages(task, flat, refusals);
    if (best.has_value()) said = refusals;
  }
  int slower = 0;
  for (int64_t stages = std::max(int64_t{2}, fewest);
       stages <= std::min(cluster.devices(), kMostTried) && slower < kMostSlower; ++stages) {
    const std::optional<StageMachines> machines = MachinesOfStage(cluster, stages);
    if (!machines.has_value()) continue;
    Diagnostics own;
    const std::optional<Seconds> below = best.has_value() ? std::optional(best->step) : std::nullopt;
    std::optional<Candidate> found = InAnyOrder(task, stages, *machines, below, own);
    if (found.has_value()) {
      best = std::move(found);
      said = std::move(own);
      slower = 0;
    } else if (best.has_value()) {
      ++slower;
    }
  }
  diagnostics.AddAll(best.has_value() ? said : refusals);
  return best.has_value() ? std::optional(std::move(best->found)) : std::nullopt;
}

}  // namespace

std::optional<StageMachines> MachinesOfStage(const Cluster& cluster, int64_t stages) {
  StageMachines machines{.cluster = cluster,
                         .axis = {.name = std::string(ir::kStageAxis), .size = stages, .link = "", .weight = 1}};
  int64_t rest = stages;
  for (Link& link : machines.cluster.links) {
    if (rest == 1) break;
    if (link.count == 1) continue;
    if (machines.axis.link.empty()) machines.axis.link = link.name;
    if (rest % link.count == 0) {
      rest /= link.count;
      link.count = 1;
    } else if (link.count % rest == 0) {
      link.count /= rest;
      rest = 1;
    } else {
      return std::nullopt;
    }
  }
  if (rest > 1) return std::nullopt;
  return machines;
}

bool CheckStagePins(const ir::Graph& graph, const ir::Pins& pins, int64_t stages, Diagnostics& diagnostics) {
  std::vector<ir::StagePin> ordered = pins.stages;
  std::sort(ordered.begin(), ordered.end(), [](const ir::StagePin& a, const ir::StagePin& b) { return a.op < b.op; });
  // Stages are runs of ops.
  const ir::StagePin* latest = nullptr;
  for (const ir::StagePin& pin : ordered) {
    if (pin.stage >= stages) {
      diagnostics.Add(
          Refused(absl::StrCat("stage ", pin.stage, " in a plan with ", StagesText(stages)), pin.span, "asked for here")
              .Note("stages are numbered from 0")
              .Help("`stages` in `parallel` says how many there are"));
      return false;
    }
    if (latest != nullptr && pin.stage < latest->stage) {
      diagnostics.Add(Refused(absl::StrCat("`", graph.op(pin.op).name, "` in stage ", pin.stage, " comes after `",
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
