// Bytes that somebody sends to a meeting point: packets come out of them, or they are malformed.
#include <sys/socket.h>

#include "runtime/rendezvous/socket.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::runtime;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 0;
  const Socket receiver(ends[0]);
  {
    const Socket sender(ends[1]);
    if (send(ends[1], data, size, MSG_DONTWAIT) != static_cast<ssize_t>(size)) return 0;
  }
  Inbox inbox;
  while (inbox.state() == Inbox::State::kOpen) {
    inbox.Receive(receiver);
    while (inbox.Next().has_value()) {
    }
  }
  return 0;
}
