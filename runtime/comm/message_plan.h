// Private to runtime/comm and its transports: in what order ranks exchange the messages of a phase where a send lasts
// until it is taken, and all communication of a rank is in one order.
//
// A rank exchanges messages, in one call, when a pass begins, and when it needs some: those that it takes then, and of
// those that it has sent before the ones that others take by then. Which these are follows from what all ranks do,
// which is rehearsed as if sends did not wait. Each exchange gets a slot: the least number that is greater than those
// of the rank's exchanges before it, and for each message that it takes than that of the sender's last exchange before
// it was sent. A message goes in the sender's first exchange whose slot is not less than that of the exchange that
// takes it.
//
//   rank 0   passes F0 F1 B0   0: {}   1: {send f0}           3: {send f1, take b0}
//   rank 1   passes F0 B0 F1           1: {take f0}   2: {}   3: {send b0, take f1}
//
// So no ranks wait for each other: of those that wait let one wait in an exchange with the least slot, s. Whoever sends
// what it takes waits in an exchange of slot s or later, and so has come to the exchange that sends it, its first one
// from s on. Whoever takes what it sends does so in an exchange of slot s or earlier, and has come to that.
//
// A box is free when what was sent from it before has been exchanged: if that is late, an exchange for it comes first.
// Complexity: linear in the events of all ranks, but for the searches in maps.
#ifndef CLEAVE_RUNTIME_COMM_MESSAGE_PLAN_H_
#define CLEAVE_RUNTIME_COMM_MESSAGE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// What a rank does in a phase.
struct PhaseEvent {
  enum class Kind { kPass, kSend, kTake };

  Kind kind = Kind::kPass;
  int group = 0;  // Group::id.
  int peer = 0;   // Rank of the world.
  int box = 0;    // Of a send. Of a take: 1 where the rank does other work before it, else 0.
};

struct MessagePlan {
  struct Exchange {
    bool exists = false;
    std::vector<int> sends;  // Numbers of the events that sent what goes now, in the order in which it is taken.
  };

  std::vector<PhaseEvent> events;  // Of the rank.
  // By event. That of a pass or a send comes before it; that of takes in a row, with no work between, is at the last
  // one that it takes.
  std::vector<Exchange> exchanges;
  Exchange last;  // At the end of the phase.
};

std::string EventsText(const std::vector<PhaseEvent>& events);
std::vector<PhaseEvent> EventsOf(const std::string& text);

// The plan of rank `own`. `events`: by rank. An Error where a rank waits for ever.
Result<MessagePlan> PlanMessages(const std::vector<std::vector<PhaseEvent>>& events, int own);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_MESSAGE_PLAN_H_
