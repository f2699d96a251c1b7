#include "ir/proof/check/schedule_check.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/sharding/stages/stages.h"

namespace cleave::ir {
namespace {

// A send or receive of a stage, at a micro-batch (0 outside of them). Without a step: a pass of a micro-batch begins or
// ends.
struct Event {
  const Step* step = nullptr;
  int64_t micro_batch = 0;
  PassKind pass = PassKind::kForward;
  bool ends = false;
};

struct Message {
  const Step* step = nullptr;
  int64_t micro_batch = 0;
};

class Rehearsal {
 public:
  explicit Rehearsal(const Program& program)
      : program_(program), has_weights_(LastPassOf(program) == PassKind::kWeights) {
    for (int stage = 0; stage < StageCount(program); ++stage) events_.push_back(EventsOf(stage));
    next_.resize(events_.size(), 0);
    under_way_.resize(events_.size());
  }

  std::vector<std::string> Run() {
    bool moves = true;
    while (moves) {
      moves = false;
      for (size_t stage = 0; stage < events_.size(); ++stage) {
        while (next_[stage] < events_[stage].size() && Happens(stage, events_[stage][next_[stage]])) {
          ++next_[stage];
          moves = true;
        }
      }
    }
    for (size_t stage = 0; stage < events_.size() && findings_.empty(); ++stage) {
      if (next_[stage] == events_[stage].size()) continue;
      const Event& event = events_[stage][next_[stage]];
      findings_.push_back(absl::StrCat("stage ", stage, " waits for ever at `", event.step->name, "` of micro-batch ",
                                       event.micro_batch));
    }
    return std::move(findings_);
  }

 private:
  // What a stage sends and receives in a step of training, in its order.
  std::vector<Event> EventsOf(int stage) const {
    std::vector<Event> events;
    const auto add = [&](Repeat repeat, Phase from, Phase to, int64_t micro_batch) {
      for (const Step& step : program_.steps) {
        const bool talks = std::holds_alternative<Send>(step.action) || std::holds_alternative<Receive>(step.action);
        if (!talks || StageOf(program_, step) != stage || step.repeat != repeat) continue;
        if (step.phase >= from && step.phase <= to) events.push_back({.step = &step, .micro_batch = micro_batch});
      }
    };
    add(Repeat::kOnceBefore, Phase::kForward, Phase::kUpdate, 0);
    const PipelineSchedule schedule = program_.pipeline->schedule;
    for (const Pass& pass : PassesOf(schedule, StageCount(program_), stage, MicroBatches(program_))) {
      events.push_back({.micro_batch = pass.micro_batch, .pass = pass.kind});
      for (const Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kWeights}) {
        if (PassOf(phase) == pass.kind) add(Repeat::kEach, phase, phase, pass.micro_batch);
      }
      events.push_back({.micro_batch = pass.micro_batch, .pass = pass.kind, .ends = true});
    }
    add(Repeat::kEach, Phase::kUpdate, Phase::kUpdate, 0);  // Of a step without micro-batches.
    add(Repeat::kOnceAfter, Phase::kForward, Phase::kUpdate, 0);
    return events;
  }

  // Whether the event can happen now; if so, it has.
  bool Happens(size_t stage, const Event& event) {
    if (event.step == nullptr) {
      Count(stage, event);
      return true;
    }
    const int own = static_cast<int>(stage);
    if (const Send* send = std::get_if<Send>(&event.step->action)) {
      std::deque<Message>& sent = sent_[{own, send->to}];
      const auto is_own = [&](const Message& message) { return message.step == event.step; };
      if (std::count_if(sent.begin(), sent.end(), is_own) == MessagesUnderWay(program_, *event.step)) return false;
      sent.push_back({event.step, event.micro_batch});
      return true;
    }
    const Receive& receive = std::get<Receive>(event.step->action);
    std::deque<Message>& sent = sent_[{receive.from, own}];
    if (sent.empty()) return false;
    const Message& message = sent.front();
    const Value& value = program_.value(std::get<Send>(message.step->action).input);
    if (value.origin != program_.value(receive.output).origin || message.micro_batch != event.micro_batch) {
      findings_.push_back(absl::StrCat("stage ", stage, " takes `", value.name, "` of micro-batch ",
                                       message.micro_batch, " as `", event.step->name, "` of micro-batch ",
                                       event.micro_batch));
    }
    sent.pop_front();
    return true;
  }

  // What waits from one pass for another has the memory of the micro-batch's number modulo those that are between these
  // passes, which no other that is between them may have.
  void Count(size_t stage, const Event& event) {
    for (const PassKind other : kPassKinds) {
      if (event.ends && other < event.pass) under_way_[stage][{other, event.pass}].erase(event.micro_batch);
      if (!event.ends && other > event.pass) Begin(stage, event.micro_batch, event.pass, other);
    }
  }

  void Begin(size_t stage, int64_t micro_batch, PassKind from, PassKind to) {
    if (to == PassKind::kWeights && !has_weights_) return;
    std::set<int64_t>& under_way = under_way_[stage][{from, to}];
    const int64_t places = MicroBatchesBetween(program_, static_cast<int>(stage), from, to);
    for (const int64_t other : under_way) {
      if (other % places != micro_batch % places) continue;
      findings_.push_back(absl::StrCat("stage ", stage, " begins micro-batch ", micro_batch,
                                       " in the memory of micro-batch ", other, ", which is under way"));
    }
    under_way.insert(micro_batch);
  }

  const Program& program_;
  std::vector<std::vector<Event>> events_;
  std::vector<size_t> next_;  // By stage: its next event.
  const bool has_weights_;    // Some pass is for the weights.
  // By stage: micro-batches between two of their passes.
  std::vector<std::map<std::pair<PassKind, PassKind>, std::set<int64_t>>> under_way_;
  std::map<std::pair<int, int>, std::deque<Message>> sent_;  // From a stage to another: what was not taken yet.
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> CheckSchedule(const Program& program) {
  return program.pipeline.has_value() ? Rehearsal(program).Run() : std::vector<std::string>();
}

}  // namespace cleave::ir
