#include "ir/proof/check/schedule_check.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/sharding/stages/stages.h"

namespace cleave::ir {
namespace {

// A send or receive of a part of the ranks, at a micro-batch (0 outside of them). Without a step: a pass of a
// micro-batch begins or ends.
struct Event {
  const Step* step = nullptr;
  Pass pass;
  bool ends = false;
};

struct Message {
  const Step* step = nullptr;
  int64_t micro_batch = 0;
};

// Two passes of a micro-batch, by their numbers on the way through a part.
using Between = std::pair<size_t, size_t>;

class Rehearsal {
 public:
  explicit Rehearsal(const Program& program)
      : program_(program),
        timetable_(TimetableOf(program)),
        has_weights_(LastPassOf(program) == PassKind::kWeights),
        next_(static_cast<size_t>(timetable_.parts()), 0),
        under_way_(static_cast<size_t>(timetable_.parts())),
        talks_(static_cast<size_t>(timetable_.parts())) {
    for (const Step& step : program_.steps) {
      if (!std::holds_alternative<Send>(step.action) && !std::holds_alternative<Receive>(step.action)) continue;
      const int stage = *StageOf(program_, step);
      talks_[static_cast<size_t>(timetable_.PartOf(stage))].push_back({&step, stage});
    }
    for (int part = 0; part < timetable_.parts(); ++part) {
      events_.push_back(EventsOf(part));
      ways_.push_back(timetable_.WayThrough(part));
      std::map<Between, int64_t>& places = places_.emplace_back();
      for (size_t from = 0; from < ways_.back().size(); ++from) {
        for (size_t to = from + 1; to < ways_.back().size(); ++to) {
          places[{from, to}] = timetable_.MicroBatchesBetween(ways_.back()[from], ways_.back()[to]);
        }
      }
    }
  }

  std::vector<std::string> Run() {
    bool moves = true;
    while (moves) {
      moves = false;
      for (size_t part = 0; part < events_.size(); ++part) {
        while (next_[part] < events_[part].size() && Happens(part, events_[part][next_[part]])) {
          ++next_[part];
          moves = true;
        }
      }
    }
    for (size_t part = 0; part < events_.size() && findings_.empty(); ++part) {
      if (next_[part] == events_[part].size()) continue;
      const Event& event = events_[part][next_[part]];
      findings_.push_back(absl::StrCat("stage ", event.pass.stage, " waits for ever at `", event.step->name,
                                       "` of micro-batch ", event.pass.micro_batch));
    }
    return std::move(findings_);
  }

 private:
  // What a part sends and receives in a step of training, in its order.
  std::vector<Event> EventsOf(int part) const {
    std::vector<Event> events;
    const auto add = [&](Repeat repeat, Phase from, Phase to, std::optional<Pass> pass) {
      for (const auto& [step, stage] : talks_[static_cast<size_t>(part)]) {
        if (step->repeat != repeat || step->phase < from || step->phase > to) continue;
        if (pass.has_value() && stage != pass->stage) continue;
        events.push_back({.step = step, .pass = pass.value_or(Pass{.stage = stage})});
      }
    };
    add(Repeat::kOnceBefore, Phase::kForward, Phase::kUpdate, std::nullopt);
    for (const Pass& pass : timetable_.PassesOf(part)) {
      events.push_back({.pass = pass});
      for (const Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kWeights}) {
        if (PassOf(phase) == pass.kind) add(Repeat::kEach, phase, phase, pass);
      }
      events.push_back({.pass = pass, .ends = true});
    }
    add(Repeat::kEach, Phase::kUpdate, Phase::kUpdate, std::nullopt);  // Of a step without micro-batches.
    add(Repeat::kOnceAfter, Phase::kForward, Phase::kUpdate, std::nullopt);
    return events;
  }

  // Whether the event can happen now; if so, it has.
  bool Happens(size_t part, const Event& event) {
    if (event.step == nullptr) {
      Count(part, event);
      return true;
    }
    const int stage = *StageOf(program_, *event.step);
    if (const Send* send = std::get_if<Send>(&event.step->action)) {
      std::deque<Message>& sent = sent_[WayBetween(stage, send->to)];
      const auto is_own = [&](const Message& message) { return message.step == event.step; };
      if (std::count_if(sent.begin(), sent.end(), is_own) == MessagesUnderWay(program_, *event.step)) return false;
      sent.push_back({event.step, event.pass.micro_batch});
      return true;
    }
    const Receive& receive = std::get<Receive>(event.step->action);
    std::deque<Message>& sent = sent_[WayBetween(receive.from, stage)];
    if (sent.empty()) return false;
    const Message& message = sent.front();
    const Value& value = program_.value(std::get<Send>(message.step->action).input);
    if (value.origin != program_.value(receive.output).origin || message.micro_batch != event.pass.micro_batch) {
      findings_.push_back(absl::StrCat("stage ", stage, " takes `", value.name, "` of micro-batch ",
                                       message.micro_batch, " as `", event.step->name, "` of micro-batch ",
                                       event.pass.micro_batch));
    }
    sent.pop_front();
    return true;
  }

  // Messages with one of these are taken in the order in which they are sent.
  std::tuple<int, int, int> WayBetween(int from, int to) const {
    return {timetable_.PartOf(from), timetable_.PartOf(to), LaneOf(program_, from, to)};
  }

  // What waits from one pass for another has the memory of the micro-batch's number modulo those that are between these
  // passes, which no other that is between them may have.
  void Count(size_t part, const Event& event) {
    const std::vector<StagePass>& way = ways_[part];
    const StagePass own = {event.pass.stage, event.pass.kind};
    const auto at = static_cast<size_t>(std::find(way.begin(), way.end(), own) - way.begin());
    if (event.ends) {
      for (size_t other = 0; other < at; ++other) under_way_[part][{other, at}].erase(event.pass.micro_batch);
    } else {
      for (size_t other = at + 1; other < way.size(); ++other) Begin(part, event.pass, {at, other});
    }
  }

  void Begin(size_t part, const Pass& pass, const Between& between) {
    if (ways_[part][between.second].kind == PassKind::kWeights && !has_weights_) return;
    const int64_t places = places_[part].at(between);
    std::set<int64_t>& under_way = under_way_[part][between];
    for (const int64_t other : under_way) {
      if (other % places != pass.micro_batch % places) continue;
      findings_.push_back(absl::StrCat("stage ", pass.stage, " begins micro-batch ", pass.micro_batch,
                                       " in the memory of micro-batch ", other, ", which is under way"));
    }
    under_way.insert(pass.micro_batch);
  }

  const Program& program_;
  const Timetable timetable_;
  const bool has_weights_;                  // Some pass is for the weights.
  std::vector<std::vector<Event>> events_;  // By part.
  std::vector<size_t> next_;                // By part: its next event.
  // By part: micro-batches between two of their passes.
  std::vector<std::map<Between, std::set<int64_t>>> under_way_;
  std::vector<std::vector<std::pair<const Step*, int>>> talks_;  // By part: its sends and receives, with their stages.
  std::vector<std::vector<StagePass>> ways_;                     // By part: WayThrough.
  std::vector<std::map<Between, int64_t>> places_;               // By part: MicroBatchesBetween.
  std::map<std::tuple<int, int, int>, std::deque<Message>> sent_;  // What was not taken yet, by WayBetween.
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> CheckSchedule(const Program& program) {
  return program.pipeline.has_value() ? Rehearsal(program).Run() : std::vector<std::string>();
}

}  // namespace cleave::ir
