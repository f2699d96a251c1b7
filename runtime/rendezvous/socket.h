// Private to runtime/rendezvous: TCP connections, and messages of a kind and some fields over them.
#ifndef CLEAVE_RUNTIME_RENDEZVOUS_SOCKET_H_
#define CLEAVE_RUNTIME_RENDEZVOUS_SOCKET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"

namespace cleave::runtime {

// A file descriptor that is closed at the end of its life.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Close(); }

  void Close();
  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Listens at that address, and at no other of this host; port 0 takes a free one. An Error (exit code 5) says why it
// cannot.
Result<Socket> Listen(const Address& address);

// A connection, tried again and again until `deadline` (by Now) while nobody listens there. An Error: kEnvironment when
// the host is not known, kFailed when time is over.
Result<Socket> Connect(const Address& address, double deadline);

// The next connection that somebody has made; not open where there is none.
Socket Accept(const Socket& listener);

// This end of a connection, or of a listening socket, as a number.
Address LocalAddress(const Socket& socket);

struct Packet {
  enum class Kind : uint32_t {
    kHello =
        0x434c4531,  // The greeting of a meeting point: other programs that may listen on a port say something else.
    kJoin,
    kWelcome,
    kOffer,
    kOffers,
    kLeave,
    kBye,
    kEnd
  };
  Kind kind = Kind::kHello;
  std::vector<std::string> fields;
};

// Whether the packet was handed to the system.
bool Send(const Socket& socket, const Packet& packet);

// Bytes that have arrived, and the messages in them.
class Inbox {
 public:
  enum class State { kOpen, kClosed, kMalformed };

  // Waits until something arrives or the other side closes the connection, and takes it.
  State Receive(const Socket& socket);

  // The next complete packet.
  std::optional<Packet> Next();

  State state() const { return state_; }

 private:
  std::string bytes_;
  State state_ = State::kOpen;
};

// Waits until something can be received; false when `deadline` has passed.
bool WaitToReceive(const Socket& socket, double deadline);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RENDEZVOUS_SOCKET_H_
