// Reading guide: PredictedTrace makes the events of a rank of each part of the plan. OfRank::Whole draws a program
// without stages, at the times of the ledger; OfRank::Passes draws the passes of a part of a pipeline, and within a
// pass its stages one after another. `stage` in names of this file is a fused step (ir::FusedStage), unless it is of a
// pass.
//
// What a step repeats for each of K micro-batches is timed as one run of K times the length, and all else waits for it
// (search/price/cost/predict.cc). So the times of one micro-batch are those, divided by K, K times one after another.
#include "tools/trace/trace.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"
#include "ir/program/memory/memory_over_step.h"
#include "runtime/json/trace_events.h"
#include "search/explain/ledger.h"
#include "tools/own_file/own_file.h"

namespace cleave::tools {
namespace {

using runtime::JsonObject;
using runtime::Timeline;
using runtime::TraceEvents;
using runtime::Track;

// A group of ranks that run the same program, and one of them.
struct Part {
  const ir::Program& program;
  const ir::MemoryPlan& memory;
  const search::Ledger& ledger;
  int rank = 0;
};

Track TrackOf(const search::LedgerRow& row) {
  if (row.kind == search::WorkKind::kCollective) return row.what == "send" ? Track::kMessages : Track::kCollectives;
  return row.kind == search::WorkKind::kCopy ? Track::kCopies : Track::kKernels;
}

absl::string_view PassName(ir::PassKind kind) {
  switch (kind) {
    case ir::PassKind::kForward:
      return "forward";
    case ir::PassKind::kBackward:
      return "backward";
    case ir::PassKind::kWeights:
      return "weights";
  }
  CLEAVE_UNREACHABLE();
}

class OfRank;

// The messages between stages, by the pass that reads them: its stage, micro-batch and kind.
struct Message {
  OfRank* from = nullptr;
  double at = 0;
};
using Messages = std::map<std::tuple<int, int64_t, ir::PassKind>, std::vector<Message>>;

class OfRank {
 public:
  // Of kernels, those of the first `shown` micro-batches are drawn.
  OfRank(const search::Explained& explained, const Part& part, int64_t shown)
      : explained_(explained),
        program_(part.program),
        fusion_(part.memory.fusion),
        memory_(part.memory),
        ledger_(part.ledger),
        micro_batches_(ir::MicroBatches(part.program)),
        shown_(shown),
        events_(Timeline::kPredicted, part.rank) {
    events_.Bar(Track::kSteps, "step", "step", 0, ledger_.step.value());
    HoldMemory();
  }

  // A program without stages.
  void Whole() {
    const Span repeated = Repeated();
    for (int64_t micro_batch = 0; micro_batch < micro_batches_ && micro_batches_ > 1; ++micro_batch) {
      const double length = repeated.length() / static_cast<double>(micro_batches_);
      const double begin = repeated.begin + static_cast<double>(micro_batch) * length;
      events_.Bar(Track::kMicroBatches, absl::StrCat("micro-batch ", micro_batch), "micro-batch", begin,
                  begin + length);
    }
    double end = 0;
    for (const search::TimedRow& run : ledger_.timeline) {
      end = std::max(end, run.begin.value() + run.seconds.value());
      if (run.stage < 0) {
        Bar(run.row, "", std::nullopt, run.begin.value(), run.begin.value() + run.seconds.value());
      } else if (IsRepeated(run.stage)) {
        for (int64_t micro_batch = 0; micro_batch < shown_; ++micro_batch) {
          const double scale = 1 / static_cast<double>(micro_batches_);
          const double begin =
              repeated.begin +
              (run.begin.value() - repeated.begin + static_cast<double>(micro_batch) * repeated.length()) * scale;
          Stage(run.stage, micro_batch, begin, run.seconds.value() * scale);
        }
      } else {
        Stage(run.stage, std::nullopt, run.begin.value(), run.seconds.value());
      }
    }
    // What computing loses beside communication is known for the step only. What is less is rounding.
    if (ledger_.step.value() - end > 1e-9) {
      events_.Bar(Track::kKernels, "slowed by communication beside it", "loss", end, ledger_.step.value());
    }
    EndMemory(ledger_.step.value());
  }

  // The part of a pipeline with this number.
  void Passes(const search::PipelinePrediction& pipeline, int part, Messages& messages) {
    const ir::Timetable timetable = ir::TimetableOf(program_);
    double free = 0;
    for (const search::PassTime& pass : pipeline.passes) {
      if (timetable.PartOf(pass.stage) != part) continue;
      if (pass.begin.value() > free) events_.Bar(Track::kMicroBatches, "idle", "idle", free, pass.begin.value());
      free = pass.end.value();
      JsonObject arguments;
      arguments.Add("pass", std::string(PassName(pass.kind)));
      arguments.AddInteger("stage", pass.stage);
      events_.Bar(Track::kMicroBatches, absl::StrCat("micro-batch ", pass.micro_batch), "micro-batch",
                  pass.begin.value(), free, arguments);
      if (pass.micro_batch >= shown_) continue;
      const ir::StagePass own{.stage = pass.stage, .kind = pass.kind};
      Sequence(own, pass.micro_batch, pass.begin.value(), (pass.end - pass.begin).value());
      Send(pass, messages);
    }
    const double once = pipeline.once[static_cast<size_t>(part)].value();
    Sequence(std::nullopt, std::nullopt, free, once);
    if (ledger_.step.value() - free - once > 1e-9) {
      events_.Bar(Track::kMicroBatches, "idle", "idle", free + once, ledger_.step.value());
    }
    EndMemory(ledger_.step.value());
  }

  // Where the messages of other parts are read, when all parts are drawn. Those that no pass waits for, such as the
  // loss, have no reader.
  void Receive(const search::PipelinePrediction& pipeline, int part, const Messages& messages) {
    for (const search::PassTime& pass : pipeline.passes) {
      if (ir::TimetableOf(program_).PartOf(pass.stage) != part) continue;
      const auto sent = messages.find({pass.stage, pass.micro_batch, pass.kind});
      if (sent == messages.end()) continue;
      for (const Message& message : sent->second) {
        if (message.at > pass.begin.value()) continue;
        const int64_t flow = message.from->events_.BeginFlow(Track::kMessages, message.at);
        events_.EndFlow(flow, Track::kMicroBatches, pass.begin.value());
      }
    }
  }

  const TraceEvents& events() const { return events_; }

  // About as many as a micro-batch has of a program's stages.
  static int64_t EventsOfMicroBatch(const search::Ledger& ledger) {
    return std::max<int64_t>(1, 2 * static_cast<int64_t>(ledger.row_of.size()));
  }

 private:
  // What another rank sends, where it is drawn.
  struct Made {
    Track track = Track::kCollectives;
    double at = 0;
  };

  struct Span {
    double begin = 0;
    double end = 0;
    double length() const { return end - begin; }
  };

  bool IsRepeated(int stage) const {
    return micro_batches_ > 1 && fusion_.stages[static_cast<size_t>(stage)].repeat == ir::Repeat::kEach;
  }

  Span Repeated() const {
    std::optional<Span> span;
    for (const search::TimedRow& run : ledger_.timeline) {
      if (run.stage < 0 || !IsRepeated(run.stage) || run.seconds <= Seconds(0)) continue;
      const Span own{.begin = run.begin.value(), .end = run.begin.value() + run.seconds.value()};
      span = !span.has_value() ? own : Span{std::min(span->begin, own.begin), std::max(span->end, own.end)};
    }
    return span.value_or(Span());
  }

  const ir::Step& StepAt(int step) const { return program_.steps[static_cast<size_t>(step)]; }
  const search::LedgerRow& RowOf(int stage) const {
    return ledger_.rows[static_cast<size_t>(ledger_.row_of[static_cast<size_t>(stage)])];
  }

  // `name`: that of the row where it is empty.
  void Bar(int row_number, const std::string& name, std::optional<int64_t> micro_batch, double begin, double end) {
    const search::LedgerRow& row = ledger_.rows[static_cast<size_t>(row_number)];
    const ir::Step& step = StepAt(row.step);
    JsonObject arguments;
    if (step.line > 0) arguments.Add("place", absl::StrCat(explained_.graph.file, ":", step.line));
    if (micro_batch.has_value()) arguments.AddInteger("micro_batch", *micro_batch);
    arguments.Add("limit", std::string(search::LimitName(row.each.limit)));
    if (row.each.sent > 0) arguments.AddWhole("sent_bytes", row.each.sent);
    if (!row.what.empty()) arguments.Add("what", row.what);
    events_.Bar(TrackOf(row), name.empty() ? row.names.front() : name, std::string(search::WorkKindName(row.kind)),
                begin, end, arguments);
  }

  // A run of a stage, which has a row.
  void Stage(int stage, std::optional<int64_t> micro_batch, double begin, double seconds) {
    Hold(stage, begin);
    if (seconds <= 0) return;
    const auto index = static_cast<size_t>(stage);
    const ir::StageSteps shown = search::ShownSteps(program_, fusion_, fusion_.stages[index]);
    const Track track = TrackOf(RowOf(stage));
    Bar(ledger_.row_of[index], shown.empty() ? "" : StepAt(shown.front()).name, micro_batch, begin, begin + seconds);
    if (const auto made = awaited_.find({stage, micro_batch}); made != awaited_.end()) {
      for (const Made& own : made->second) events_.EndFlow(events_.BeginFlow(own.track, own.at), track, begin);
      awaited_.erase(made);
    }
    const int reader = ledger_.reader_of[index];
    if (reader < 0 || ledger_.row_of[static_cast<size_t>(reader)] < 0) return;
    // All of the first micro-batch comes behind what runs once before it, and what runs once behind it after the last.
    std::optional<int64_t> read_in = micro_batch;
    if (IsRepeated(reader) != micro_batch.has_value()) {
      read_in = micro_batch.has_value() ? std::nullopt : std::optional<int64_t>(0);
      if (micro_batch.has_value() && *micro_batch + 1 < micro_batches_) return;
    }
    awaited_[{reader, read_in}].push_back({track, begin});
  }

  // The stages of a pass one after another, in `length` seconds.
  void Sequence(const std::optional<ir::StagePass>& pass, std::optional<int64_t> micro_batch, double begin,
                double length) {
    double alone = 0;
    const auto runs = static_cast<double>(pass.has_value() ? micro_batches_ : 1);
    const auto is_in = [&](size_t i) {
      const ir::FusedStage& stage = fusion_.stages[i];
      return stage.phase != ir::Phase::kMetric && stage.pass == pass && ledger_.row_of[i] >= 0;
    };
    const auto is_sent = [&](size_t i) {
      return std::holds_alternative<ir::Send>(StepAt(ir::StepsOf(fusion_.stages[i]).front()).action);
    };
    for (size_t i = 0; i < fusion_.stages.size(); ++i) {
      if (is_in(i) && !is_sent(i)) alone += RowOf(static_cast<int>(i)).each.AllSeconds().value() / runs;
    }
    // Where some of it runs side by side, or samples are read, too.
    const double scale = alone > 0 ? length / alone : 0;
    double at = begin;
    for (size_t i = 0; i < fusion_.stages.size(); ++i) {
      if (!is_in(i) || is_sent(i)) continue;
      const double seconds = RowOf(static_cast<int>(i)).each.AllSeconds().value() / runs * scale;
      Stage(static_cast<int>(i), micro_batch, at, seconds);
      at += seconds;
    }
  }

  // Draws the messages that a pass sends, and keeps them for the passes that read them.
  void Send(const search::PassTime& pass, Messages& messages) {
    double at = std::max(pass.end.value(), sent_until_);
    for (size_t i = 0; i < fusion_.stages.size(); ++i) {
      const ir::FusedStage& stage = fusion_.stages[i];
      const ir::StagePass own{.stage = pass.stage, .kind = pass.kind};
      if (stage.phase == ir::Phase::kMetric || stage.pass != own || ledger_.row_of[i] < 0) continue;
      const ir::Step& step = StepAt(ir::StepsOf(stage).front());
      const auto* const send = std::get_if<ir::Send>(&step.action);
      if (send == nullptr) continue;
      const double seconds = RowOf(static_cast<int>(i)).each.seconds.value();
      Bar(ledger_.row_of[i], step.name, pass.micro_batch, at, at + seconds);
      messages[{send->to, pass.micro_batch, pass.kind}].push_back({.from = this, .at = at});
      at += seconds;
    }
    sent_until_ = at;
  }

  // What is held at each stage, by its number.
  void HoldMemory() {
    held_.resize(fusion_.stages.size());
    for (const ir::HeldBytes& held : ir::MemoryOverStep(explained_.made.distributed.graph, program_, memory_)) {
      if (held.stage < held_.size()) held_[held.stage] = held.by_role;
    }
    JsonObject bytes;
    bytes.AddInteger("bytes", memory_.use.prediction.peak.value());
    events_.Count("allocated", 0, bytes);
  }

  void Hold(int stage, double at) {
    const auto& now = held_[static_cast<size_t>(stage)];
    if (shown_memory_ == now) return;
    shown_memory_ = now;
    JsonObject bytes;
    for (size_t role = 0; role < now.size(); ++role) {
      bytes.AddInteger(std::string(ir::MemoryRoleName(ir::kMemoryRoles[role])), now[role].value());
    }
    events_.Count("memory", at, bytes);
  }

  void EndMemory(double at) {
    JsonObject bytes;
    bytes.AddInteger("bytes", memory_.use.prediction.peak.value());
    events_.Count("allocated", at, bytes);
  }

  const search::Explained& explained_;
  const ir::Program& program_;
  const ir::Fusion& fusion_;
  const ir::MemoryPlan& memory_;
  const search::Ledger& ledger_;
  const int64_t micro_batches_;
  const int64_t shown_;
  TraceEvents events_;
  double sent_until_ = 0;
  // What ranks send and is not yet read, by the stage and the micro-batch that read it.
  std::map<std::pair<int, std::optional<int64_t>>, std::vector<Made>> awaited_;
  std::vector<std::array<Bytes, ir::kMemoryRoles.size()>> held_;
  std::optional<std::array<Bytes, ir::kMemoryRoles.size()>> shown_memory_;
};

constexpr int64_t kMostMeasuredBytes = int64_t{256} << 20;

OwnKind TraceKind() {
  static const auto& first = *new std::string(runtime::TraceBegin(Timeline::kPredicted));
  return {.first = first, .what = "the trace of a plan"};
}

}  // namespace

std::string PredictedTrace(const search::Explained& explained, const search::PipelinePrediction* pipeline) {
  const ir::LoweredProgram& made = explained.made;
  const ir::Mesh mesh = ir::RankMesh(made.program);
  const std::vector<search::Ledger> ledgers = search::LedgersOf(explained);
  int64_t of_micro_batch = 0;
  for (const search::Ledger& ledger : ledgers) of_micro_batch += OfRank::EventsOfMicroBatch(ledger);
  const int64_t micro_batches = ir::MicroBatches(made.parts.empty() ? made.program : made.parts.front().program);
  const int64_t shown = std::clamp<int64_t>(runtime::kMostTraceEvents / of_micro_batch, 1, micro_batches);
  std::deque<OfRank> ranks;  // Messages point to them.
  Messages messages;
  for (size_t p = 0; p < ledgers.size(); ++p) {
    if (made.parts.empty()) {
      ranks.emplace_back(explained, Part{made.program, made.memory, ledgers[p], 0}, shown).Whole();
      continue;
    }
    std::vector<int> coordinates(static_cast<size_t>(mesh.axis_count()), 0);
    coordinates[static_cast<size_t>(made.program.pipeline->axis.value())] = static_cast<int>(p);
    const Part part{made.parts[p].program, made.parts[p].memory, ledgers[p], mesh.Rank(coordinates)};
    ranks.emplace_back(explained, part, shown).Passes(*pipeline, static_cast<int>(p), messages);
  }
  for (size_t p = 0; p < made.parts.size(); ++p) ranks[p].Receive(*pipeline, static_cast<int>(p), messages);
  std::vector<std::string> texts;
  for (const OfRank& rank : ranks) texts.push_back(rank.events().Text());
  JsonObject facts;
  facts.Add("model", explained.graph.file);
  facts.Add("cluster", explained.plan.cluster);
  facts.AddInteger("ranks", mesh.rank_count());
  facts.AddInteger("micro_batches", micro_batches);
  facts.AddInteger("micro_batches_with_kernels", shown);
  return runtime::TraceText(Timeline::kPredicted, facts, texts);
}

absl::StatusOr<std::string> WithMeasured(std::string trace, const std::string& path) {
  CLEAVE_ASSIGN_OR_RETURN(const std::string measured,
                          ReadFile(path, {.what = "trace", .most_bytes = kMostMeasuredBytes, .pipes = Pipes::kRead}));
  constexpr absl::string_view kEvents = "\"traceEvents\":[\n", kEnd = "\n]}\n";
  const size_t begin = measured.find(kEvents.data(), 0, kEvents.size());
  const bool is_whole = absl::StartsWith(measured, runtime::TraceBegin(Timeline::kMeasured)) &&
                        begin != std::string::npos && absl::EndsWith(measured, kEnd);
  if (!is_whole) {
    return absl::InvalidArgumentError(absl::StrCat(
        QuotedPath(path), " is no whole timeline of measured steps; a program writes one with `--profile FILE`"));
  }
  trace.resize(trace.size() - kEnd.size());
  absl::StrAppend(&trace, ",\n", absl::string_view(measured).substr(begin + kEvents.size()));
  return trace;
}

absl::Status CheckTracePlace(const std::string& path) { return CheckOwnPlace(path, TraceKind()); }

absl::Status WriteTrace(const std::string& path, const std::string& trace) {
  return WriteOwn(path, TraceKind(), trace);
}

}  // namespace cleave::tools
