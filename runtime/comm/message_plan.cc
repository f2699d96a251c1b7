// Reading guide: a PhaseRehearsal does the events of all ranks as far as they can happen (Move, Happens), gives each
// exchange its slot, and then puts what the rank sends into its exchanges. EventsText and EventsOf are how ranks tell
// each other their events.
#include "runtime/comm/message_plan.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

namespace cleave::runtime {
namespace {

using Kind = PhaseEvent::Kind;

struct SentMessage {
  int event = 0;           // Of the sender.
  int64_t sent_after = 0;  // The slot of the sender's last exchange before it.
  bool is_taken = false;
  int64_t slot = 0;   // In which it is taken.
  int64_t order = 0;  // Among all that are taken.
};

class PhaseRehearsal {
 public:
  PhaseRehearsal(const std::vector<std::vector<PhaseEvent>>& events, int own)
      : events_(events), own_(own), next_(events.size(), 0), slot_(events.size(), -1) {}

  Result<MessagePlan> Run() {
    while (Move()) {
    }
    for (size_t rank = 0; rank < events_.size(); ++rank) {
      if (next_[rank] == events_[rank].size()) continue;
      const PhaseEvent& event = events_[rank][next_[rank]];
      return Error{ExitCode::kFailed, Format("rank %zu would wait for ever for rank %d, in its message %zu of a phase",
                                             rank, event.peer, next_[rank])};
    }
    return OwnPlan();
  }

 private:
  size_t At(int rank) const { return next_[static_cast<size_t>(rank)]; }
  const std::vector<PhaseEvent>& EventsOf(int rank) const { return events_[static_cast<size_t>(rank)]; }

  // Whether anything happens. What a rank takes in a row it takes at once, unless nothing else can happen: a box may
  // have to be free before all of it can be sent.
  bool Move() {
    const int ranks = static_cast<int>(events_.size());
    bool moves = false;
    for (int rank = 0; rank < ranks; ++rank) {
      while (Happens(rank)) moves = true;
    }
    for (int rank = 0; rank < ranks && !moves; ++rank) {
      const bool takes = At(rank) < EventsOf(rank).size() && EventsOf(rank)[At(rank)].kind == Kind::kTake;
      moves = takes && HasTaken(rank, /*takes_some=*/true);
    }
    return moves;
  }

  // Whether the rank's next events can happen now; if so, they have.
  bool Happens(int rank) {
    if (At(rank) == EventsOf(rank).size()) return false;
    switch (EventsOf(rank)[At(rank)].kind) {
      case Kind::kPass:
        return BeginsPass(rank);
      case Kind::kSend:
        return HasSent(rank);
      case Kind::kTake:
        return HasTaken(rank, /*takes_some=*/false);
    }
    return false;
  }

  // Whether the event is a take with no work before it.
  bool Continues(int rank, size_t event) const {
    const std::vector<PhaseEvent>& events = EventsOf(rank);
    return event < events.size() && events[event].kind == Kind::kTake && events[event].box == 0;
  }

  void Exchange(int rank, size_t event, int64_t slot) {
    slot_[static_cast<size_t>(rank)] = slot;
    if (rank == own_) own_exchanges_.emplace_back(event, slot);
  }

  bool BeginsPass(int rank) {
    const size_t event = At(rank);
    ++next_[static_cast<size_t>(rank)];
    // What it takes first comes with the exchange of its beginning.
    if (!Continues(rank, event + 1)) Exchange(rank, event, slot_[static_cast<size_t>(rank)] + 1);
    return true;
  }

  bool HasSent(int rank) {
    const size_t event = At(rank);
    const PhaseEvent& sent = EventsOf(rank)[event];
    SentMessage*& in_box = boxes_[{rank, sent.group, sent.peer, sent.box}];
    int64_t& slot = slot_[static_cast<size_t>(rank)];
    if (in_box != nullptr && !in_box->is_taken) return false;
    if (in_box != nullptr && in_box->slot > slot) Exchange(rank, event, in_box->slot);
    messages_.push_back({static_cast<int>(event), slot});
    in_box = &messages_.back();
    under_way_[{sent.group, rank, sent.peer}].push_back(in_box);
    if (rank == own_) own_messages_.push_back(in_box);
    ++next_[static_cast<size_t>(rank)];
    return true;
  }

  bool HasTaken(int rank, bool takes_some) {
    const std::vector<PhaseEvent>& events = EventsOf(rank);
    std::map<std::tuple<int, int, int>, size_t> counts;
    std::vector<SentMessage*> taken;
    size_t end = At(rank);
    for (; end == At(rank) || Continues(rank, end); ++end) {
      const std::tuple<int, int, int> way = {events[end].group, events[end].peer, rank};
      const std::deque<SentMessage*>& sent = under_way_[way];
      size_t& number = counts[way];
      if (number == sent.size()) break;
      taken.push_back(sent[number++]);
    }
    const bool is_all = end > At(rank) && !Continues(rank, end);
    if (taken.empty() || (!is_all && !takes_some)) return false;
    int64_t slot = slot_[static_cast<size_t>(rank)];
    for (const SentMessage* const message : taken) slot = std::max(slot, message->sent_after);
    Exchange(rank, end - 1, slot + 1);
    for (SentMessage* const message : taken) {
      message->is_taken = true;
      message->slot = slot + 1;
      message->order = taken_++;
    }
    for (const auto& [way, count] : counts) {
      std::deque<SentMessage*>& sent = under_way_[way];
      sent.erase(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(count));
    }
    next_[static_cast<size_t>(rank)] = end;
    return true;
  }

  Result<MessagePlan> OwnPlan() {
    MessagePlan plan;
    plan.events = EventsOf(own_);
    plan.exchanges.resize(plan.events.size());
    for (const auto& [event, slot] : own_exchanges_) plan.exchanges[event].exists = true;
    std::stable_sort(own_messages_.begin(), own_messages_.end(), [](const SentMessage* a, const SentMessage* b) {
      return std::tie(a->slot, a->order) < std::tie(b->slot, b->order);
    });
    for (const SentMessage* const message : own_messages_) {
      if (!message->is_taken) {
        return Error{ExitCode::kFailed,
                     Format("nobody takes what rank %d sends in its message %d of a phase", own_, message->event)};
      }
      const auto exchange =
          std::lower_bound(own_exchanges_.begin(), own_exchanges_.end(), message->slot,
                           [](const std::pair<size_t, int64_t>& each, int64_t slot) { return each.second < slot; });
      (exchange == own_exchanges_.end() ? plan.last : plan.exchanges[exchange->first]).sends.push_back(message->event);
    }
    plan.last.exists = !plan.last.sends.empty();
    return plan;
  }

  const std::vector<std::vector<PhaseEvent>>& events_;
  const int own_;
  std::vector<size_t> next_;   // By rank: its next event.
  std::vector<int64_t> slot_;  // By rank: of its last exchange.
  std::deque<SentMessage> messages_;
  std::map<std::tuple<int, int, int>, std::deque<SentMessage*>> under_way_;  // By group, sender and receiver.
  std::map<std::tuple<int, int, int, int>, SentMessage*> boxes_;             // By sender, group, receiver and box.
  int64_t taken_ = 0;
  std::vector<std::pair<size_t, int64_t>> own_exchanges_;  // Events and slots.
  std::vector<SentMessage*> own_messages_;
};

}  // namespace

std::string EventsText(const std::vector<PhaseEvent>& events) {
  std::string text;
  for (const PhaseEvent& event : events) {
    text += Format("%d %d %d %d ", static_cast<int>(event.kind), event.group, event.peer, event.box);
  }
  return text;
}

std::vector<PhaseEvent> EventsOf(const std::string& text) {
  std::vector<PhaseEvent> events;
  const char* rest = text.c_str();
  const auto next = [&rest] {
    char* end = nullptr;
    const long number = std::strtol(rest, &end, 10);
    rest = end;
    return static_cast<int>(number);
  };
  while (*rest != '\0') {
    PhaseEvent& event = events.emplace_back();
    event.kind = static_cast<Kind>(next());
    event.group = next();
    event.peer = next();
    event.box = next();
    ++rest;  // A space.
  }
  return events;
}

Result<MessagePlan> PlanMessages(const std::vector<std::vector<PhaseEvent>>& events, int own) {
  return PhaseRehearsal(events, own).Run();
}

}  // namespace cleave::runtime
