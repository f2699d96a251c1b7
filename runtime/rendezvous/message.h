// Private to runtime/rendezvous: what a meeting point and the ranks say to each other.
//
//   const std::optional<Message> message = MessageOf(packet);   // nullopt: the packet says nothing that anyone sends.
//
// Anyone who reaches a port can send to it, so a packet becomes a message only here, and only when every field of it is
// what it must be: numbers are in their ranges, lists fit together, names can be printed as they are. Who takes a
// message need not check it again.
#ifndef CLEAVE_RUNTIME_RENDEZVOUS_MESSAGE_H_
#define CLEAVE_RUNTIME_RENDEZVOUS_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

constexpr int kMostRanks = 1 << 20;

// From the meeting point to who connects.
struct Hello {};

// From a rank, once.
struct JoinRequest {
  std::optional<int> rank;  // nullopt: the scheduler gives it. Otherwise below `ranks`.
  int ranks = 1;            // Of its program, from 1 to kMostRanks.
  int local_rank = -1;      // From -1, which is none, to kMostRanks.
  std::string host;         // Its name for itself, not empty.
  std::string secret;
};

// The answer when all have joined: `rank` is a place in `hosts`, which are those of all ranks.
struct Welcome {
  int rank = 0;
  std::vector<std::string> hosts;
};

// What a rank tells all others, and what all ranks have told, by rank.
struct Offer {
  std::string text;
};
struct Offers {
  std::vector<std::string> texts;
};

// A rank asks where the others are; the meeting point asks each; each answers; who asked gets what was answered in
// time, by rank: the texts of ranks that have not answered are empty.
struct Question {};
struct Answer {
  std::string text;
};
struct Answers {
  std::vector<std::string> texts;
};

// A rank has done its work; all have.
struct Departure {};
struct Goodbye {};

// The job ends. The message is empty for all ranks but the one that prints it.
struct End {
  ExitCode code = ExitCode::kFailed;
  std::string message;
};

using Message =
    std::variant<Hello, JoinRequest, Welcome, Offer, Offers, Question, Answer, Answers, Departure, Goodbye, End>;

// A message on its way.
struct Packet {
  uint32_t kind = 0;
  std::vector<std::string> fields;
};

Packet PacketOf(const Message& message);
std::optional<Message> MessageOf(Packet packet);

// The text with each byte that a terminal may not show as itself, such as an escape, written as \x1b.
std::string Printable(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RENDEZVOUS_MESSAGE_H_
