// Finds at compile time which `send` each `recv` gets.
//
// Every rank runs the same calls in the same order. The k-th message that rank r receives from rank s with a tag is the
// k-th that s sends to r with it. On all ranks that receive in it, one call of `recv` must get everything that one call
// of `send` sends, and nothing else: then the two are one exchange of messages.
//
//   mailbox.Send({.span = call, .value = x, .to = {1, 2, -1}, .tag = 0});
//   const Delivery delivery = mailbox.Receive({.span = call, .from = {-1, 0, 1}, .tag = 0});
#ifndef CLEAVE_FRONTEND_MANUAL_MAILBOX_H_
#define CLEAVE_FRONTEND_MANUAL_MAILBOX_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// A call of `send`: for each rank the rank to which it sends, -1 for none.
struct SendCall {
  Span span;
  ir::OpId value;
  std::vector<int64_t> to;
  int64_t tag = 0;
};

// A call of `recv`: for each rank the rank from which it receives, -1 for none.
struct ReceiveCall {
  Span span;
  std::vector<int64_t> from;
  int64_t tag = 0;
};

// Both are absent if no rank receives.
struct Delivery {
  std::optional<SendCall> send;
  std::optional<Diagnostic> mistake;
};

class Mailbox {
 public:
  void Send(SendCall call);
  Delivery Receive(ReceiveCall call);

  // An error for each send with a message that is never received.
  std::vector<Diagnostic> Unreceived() const;

 private:
  using Route = std::tuple<int64_t, int64_t, int64_t>;  // From, to, tag.

  Diagnostic NeverSent(const ReceiveCall& call, int64_t rank) const;

  std::vector<SendCall> sends_;
  std::vector<ReceiveCall> receives_;
  std::map<Route, std::deque<size_t>> waiting_;  // Indices of sends, the earliest first.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_MANUAL_MAILBOX_H_
