#include "runtime/comm/message_plan.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace cleave::runtime {
namespace {

using Kind = PhaseEvent::Kind;

std::vector<MessagePlan> PlansOf(const std::vector<std::vector<PhaseEvent>>& events) {
  std::vector<MessagePlan> plans;
  for (size_t rank = 0; rank < events.size(); ++rank) {
    Result<MessagePlan> plan = PlanMessages(events, static_cast<int>(rank));
    if (!plan.ok()) {
      ADD_FAILURE() << plan.error().message;
      return {};
    }
    plans.push_back(std::move(plan.value()));
  }
  return plans;
}

// What a rank asks NCCL for: in each exchange it names the messages that it sends to other ranks and takes from them,
// in order, by the numbers that the rehearsal of sends in order gives them.
struct Exchanged {
  std::vector<std::pair<int, int>> sent;   // To whom, and the sender's event.
  std::vector<std::pair<int, int>> taken;  // From whom, and the sender's event.
};

// The numbers of the sends that takes get where what is sent first on a way is taken first.
std::map<std::pair<int, int>, int> SenderEvents(const std::vector<std::vector<PhaseEvent>>& events) {
  std::map<std::tuple<int, int, int>, std::deque<int>> sent;
  for (size_t rank = 0; rank < events.size(); ++rank) {
    for (size_t i = 0; i < events[rank].size(); ++i) {
      const PhaseEvent& event = events[rank][i];
      if (event.kind == Kind::kSend) sent[{event.group, rank, event.peer}].push_back(static_cast<int>(i));
    }
  }
  std::map<std::pair<int, int>, int> senders;  // By the rank that takes and its event.
  for (size_t rank = 0; rank < events.size(); ++rank) {
    for (size_t i = 0; i < events[rank].size(); ++i) {
      const PhaseEvent& event = events[rank][i];
      if (event.kind != Kind::kTake) continue;
      std::deque<int>& way = sent[{event.group, event.peer, rank}];
      senders[{static_cast<int>(rank), static_cast<int>(i)}] = way.front();
      way.pop_front();
    }
  }
  return senders;
}

std::vector<Exchanged> ExchangesOf(const MessagePlan& plan, int rank,
                                   const std::map<std::pair<int, int>, int>& senders) {
  std::vector<Exchanged> exchanges;
  Exchanged next;
  std::map<std::pair<int, int>, int> in_box;  // Events whose boxes are not free.
  const auto exchange = [&](const MessagePlan::Exchange& each) {
    for (const int event : each.sends) {
      const PhaseEvent& sent = plan.events[static_cast<size_t>(event)];
      next.sent.emplace_back(sent.peer, event);
      EXPECT_EQ((in_box[{sent.peer, sent.box}]), event);
      in_box.erase({sent.peer, sent.box});
    }
    exchanges.push_back(std::exchange(next, {}));
  };
  for (size_t i = 0; i < plan.events.size(); ++i) {
    const PhaseEvent& event = plan.events[i];
    // What it has not taken yet is not there when it does other work.
    if (event.kind == Kind::kTake && event.box == 1) EXPECT_TRUE(next.taken.empty());
    if (event.kind == Kind::kTake) next.taken.emplace_back(event.peer, senders.at({rank, static_cast<int>(i)}));
    if (plan.exchanges[i].exists) exchange(plan.exchanges[i]);
    if (event.kind != Kind::kSend) continue;
    EXPECT_TRUE((in_box.emplace(std::pair(event.peer, event.box), static_cast<int>(i)).second));
  }
  if (plan.last.exists) exchange(plan.last);
  EXPECT_TRUE(next.taken.empty());
  EXPECT_TRUE(in_box.empty());
  return exchanges;
}

// Runs the exchanges as NCCL does: a rank's next one begins when all of its last one is done, and a message is done
// when both ranks are in the exchanges that have it. Between two ranks the messages must have the same order on both.
void ExpectThatAllEnd(const std::vector<std::vector<PhaseEvent>>& events) {
  const std::map<std::pair<int, int>, int> senders = SenderEvents(events);
  const std::vector<MessagePlan> plans = PlansOf(events);
  std::vector<std::vector<Exchanged>> exchanges;
  std::map<std::pair<int, int>, std::vector<int>> sent, taken;
  for (size_t rank = 0; rank < plans.size(); ++rank) {
    exchanges.push_back(ExchangesOf(plans[rank], static_cast<int>(rank), senders));
    for (const Exchanged& exchange : exchanges.back()) {
      for (const auto& [to, event] : exchange.sent) sent[{static_cast<int>(rank), to}].push_back(event);
      for (const auto& [from, event] : exchange.taken) taken[{from, static_cast<int>(rank)}].push_back(event);
    }
  }
  EXPECT_EQ(sent, taken);
  std::vector<size_t> now(plans.size(), 0);
  const auto has = [&](int rank, bool sends, std::pair<int, int> message) {
    // Whether the rank has come to the exchange with the message.
    const std::vector<Exchanged>& all = exchanges[static_cast<size_t>(rank)];
    for (size_t i = 0; i <= now[static_cast<size_t>(rank)] && i < all.size(); ++i) {
      for (const auto& each : sends ? all[i].sent : all[i].taken) {
        if (each == message) return true;
      }
    }
    return false;
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (size_t rank = 0; rank < plans.size(); ++rank) {
      if (now[rank] == exchanges[rank].size()) continue;
      bool done = true;
      const int own = static_cast<int>(rank);
      for (const auto& [to, event] : exchanges[rank][now[rank]].sent) done &= has(to, false, {own, event});
      for (const auto& [from, event] : exchanges[rank][now[rank]].taken) done &= has(from, true, {own, event});
      now[rank] += done;
      moves |= done;
    }
  }
  for (size_t rank = 0; rank < plans.size(); ++rank) EXPECT_EQ(now[rank], exchanges[rank].size()) << "rank " << rank;
}

// Events of ranks that wait for nothing but what was sent to them, with few boxes.
std::vector<std::vector<PhaseEvent>> AnyPhase(std::mt19937& random) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  const int ranks = 2 + below(4), boxes = 1 + below(3);
  std::vector<std::vector<PhaseEvent>> events(static_cast<size_t>(ranks));
  std::map<std::tuple<int, int, int>, std::deque<int>> under_way;  // By group, sender, receiver: boxes.
  std::map<std::tuple<int, int, int, int>, bool> is_full;
  const auto take = [&](int group, int from, int to) {
    std::deque<int>& way = under_way[{group, from, to}];
    if (way.empty()) return;
    events[static_cast<size_t>(to)].push_back({Kind::kTake, group, from, below(2)});
    is_full[{from, group, to, way.front()}] = false;
    way.pop_front();
  };
  for (int rank = 0; rank < ranks; ++rank) events[static_cast<size_t>(rank)].push_back({Kind::kPass});
  for (int i = 0; i < 60; ++i) {
    const int from = below(ranks), to = (from + 1 + below(ranks - 1)) % ranks, group = below(2), box = below(boxes);
    switch (below(3)) {
      case 0:
        events[static_cast<size_t>(from)].push_back({Kind::kPass});
        break;
      case 1:
        if (is_full[{from, group, to, box}]) break;
        is_full[{from, group, to, box}] = true;
        under_way[{group, from, to}].push_back(box);
        events[static_cast<size_t>(from)].push_back({Kind::kSend, group, to, box + 10 * group});
        break;
      case 2:
        take(group, from, to);
        break;
    }
  }
  for (int group = 0; group < 2; ++group) {
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        while (!under_way[{group, from, to}].empty()) take(group, from, to);
      }
    }
  }
  return events;
}

TEST(MessagePlan, NobodyWaitsForEver) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    ExpectThatAllEnd(AnyPhase(random));
    if (testing::Test::HasFailure()) return;
  }
}

// Two stages, one forward and one backward pass each of three micro-batches: what is sent goes at the next pass.
TEST(MessagePlan, SendsAtTheNextPass) {
  const PhaseEvent pass = {}, send_to_1 = {Kind::kSend, 0, 1}, take_from_1 = {Kind::kTake, 0, 1},
                   send_to_0 = {Kind::kSend, 0, 0}, take_from_0 = {Kind::kTake, 0, 0};
  const std::vector<PhaseEvent> first = {pass, send_to_1, pass, send_to_1,   pass, take_from_1,
                                         pass, send_to_1, pass, take_from_1, pass, take_from_1};
  const std::vector<PhaseEvent> second = {pass, take_from_0, pass, send_to_0,   pass, take_from_0,
                                          pass, send_to_0,   pass, take_from_0, pass, send_to_0};
  ExpectThatAllEnd({first, second});
  const MessagePlan plan = PlansOf({first, second})[0];
  std::vector<std::vector<int>> sends;
  for (const MessagePlan::Exchange& exchange : plan.exchanges) {
    if (exchange.exists) sends.push_back(exchange.sends);
  }
  EXPECT_EQ(sends, (std::vector<std::vector<int>>{{}, {1}, {3}, {}, {7}, {}}));
  EXPECT_EQ(EventsOf(EventsText(first)).size(), first.size());
  EXPECT_EQ(EventsOf(EventsText(first))[5].kind, Kind::kTake);
}

TEST(MessagePlan, RefusesWhatWaitsForEver) {
  const PhaseEvent send = {Kind::kSend, 0, 1}, take = {Kind::kTake, 0, 0};
  EXPECT_FALSE(PlanMessages({{send, send}, {}}, 0).ok());  // The box is full.
  EXPECT_FALSE(PlanMessages({{send}, {}}, 0).ok());
  EXPECT_FALSE(PlanMessages({{}, {take}}, 0).ok());
  EXPECT_TRUE(PlanMessages({{send}, {take}}, 0).ok());
}

}  // namespace
}  // namespace cleave::runtime
