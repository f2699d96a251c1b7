// Private to runtime/rendezvous: TCP connections, and messages over them.
#ifndef CLEAVE_RUNTIME_RENDEZVOUS_SOCKET_H_
#define CLEAVE_RUNTIME_RENDEZVOUS_SOCKET_H_

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"
#include "runtime/rendezvous/message.h"

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

// The other end of a connection, for messages.
std::string PeerName(const Socket& socket);

// Whether the message was handed to the system.
bool Send(const Socket& socket, const Message& message);

// Bytes that have arrived, and the messages in them. It never holds more than the longest packet that it takes, and
// what is received at once.
class Inbox {
 public:
  enum class State { kOpen, kClosed, kMalformed };

  // Packets of strangers are short: they ask to join.
  static constexpr size_t kLongestOfStranger = 4096;
  static constexpr size_t kLongestOfMember = size_t{1} << 26;

  explicit Inbox(size_t longest_packet = kLongestOfMember) : longest_(longest_packet) {}

  // From now on, packets of this size are taken.
  void SetLongestPacket(size_t bytes) { longest_ = bytes; }

  // Takes what has arrived; does not wait.
  State Receive(const Socket& socket);

  // The next complete message. After something that is none, there is no next one, and the state is kMalformed.
  std::optional<Message> Next();

  State state() const { return state_; }

 private:
  size_t longest_;
  std::string bytes_;
  State state_ = State::kOpen;
};

// Waits until something can be received; false when `deadline` has passed.
bool WaitToReceive(const Socket& socket, double deadline);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RENDEZVOUS_SOCKET_H_
