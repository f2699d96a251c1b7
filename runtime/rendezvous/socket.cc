#include "runtime/rendezvous/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr size_t kMostFields = kMostRanks + 2;  // An empty field takes much more memory here than in the packet.
constexpr double kPause = 0.02;                 // Seconds between two tries to connect.

// The addresses that a name has.
class Resolved {
 public:
  explicit Resolved(const Address& address) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    status_ = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list_);
  }
  ~Resolved() {
    if (status_ == 0) freeaddrinfo(list_);
  }
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;

  bool ok() const { return status_ == 0; }
  std::string problem() const { return gai_strerror(status_); }
  const addrinfo* first() const { return list_; }

 private:
  int status_ = 0;
  addrinfo* list_ = nullptr;
};

Error Unknown(const Address& address, const Resolved& resolved) {
  return {ExitCode::kEnvironment, Format("the host `%s`, at which the ranks are to meet, is not known: %s",
                                         address.host.c_str(), resolved.problem().c_str())};
}

// A host that is switched off closes no connections: after half a minute without an answer it counts as gone.
void Configure(int descriptor) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

// Waits for a connection that has been begun; 0, or why there is none.
int FinishConnecting(int descriptor, double deadline) {
  pollfd wait = {descriptor, POLLOUT, 0};
  const int milliseconds = static_cast<int>(std::max(0.0, deadline - Now()) * 1000);
  if (poll(&wait, 1, milliseconds) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// Tries once; the socket is not open where nobody listens.
Socket TryToConnect(const Resolved& resolved, double deadline) {
  for (const addrinfo* one = resolved.first(); one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (!socket.is_open()) continue;
    int error = connect(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = FinishConnecting(socket.descriptor(), deadline);
    // A port that nobody listens on may be given to this very socket, which then talks to itself.
    sockaddr_storage peer = {};
    socklen_t size = sizeof peer;
    if (error != 0 || getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    sockaddr_storage own = {};
    socklen_t own_size = sizeof own;
    getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), &own_size);
    if (size == own_size && std::memcmp(&peer, &own, size) == 0) continue;
    Configure(socket.descriptor());
    return socket;
  }
  return Socket();
}

Address AddressOf(const sockaddr_storage& name, socklen_t size) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&name), size, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, std::atoi(port)};
}

void AppendNumber(uint32_t number, std::string& bytes) {
  const uint32_t in_order = htonl(number);
  bytes.append(reinterpret_cast<const char*>(&in_order), sizeof in_order);
}

// The number at `at`; moves `at` behind it. REQUIRES: it is there.
uint32_t NumberAt(const std::string& bytes, size_t& at) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  at += sizeof number;
  return ntohl(number);
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void Socket::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

Result<Socket> Listen(const Address& address) {
  const Resolved resolved(address);
  if (!resolved.ok()) return Unknown(address, resolved);
  int error = 0;
  for (const addrinfo* one = resolved.first(); one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    const int yes = 1;
    if (socket.is_open() && setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 && listen(socket.descriptor(), SOMAXCONN) == 0) {
      return socket;
    }
    error = errno;
  }
  std::string why = std::strerror(error);
  if (error == EADDRNOTAVAIL) why = Format("`%s` is no address of this host", address.host.c_str());
  if (error == EADDRINUSE) why = Format("port %d is in use", address.port);
  return Error{ExitCode::kEnvironment, Format("cannot listen at %s: %s", ToString(address).c_str(), why.c_str())};
}

Result<Socket> Connect(const Address& address, double deadline) {
  const Resolved resolved(address);
  if (!resolved.ok()) return Unknown(address, resolved);
  while (true) {
    Socket socket = TryToConnect(resolved, deadline);
    if (socket.is_open()) return socket;
    const double left = deadline - Now();
    if (left <= 0) return Error{ExitCode::kFailed, Format("nobody listens at %s", ToString(address).c_str())};
    poll(nullptr, 0, static_cast<int>(std::min(left, kPause) * 1000) + 1);
  }
}

Socket Accept(const Socket& listener) {
  Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.is_open()) Configure(socket.descriptor());
  return socket;
}

Address LocalAddress(const Socket& socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof name;
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&name), &size);
  return AddressOf(name, size);
}

std::string PeerName(const Socket& socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof name;
  getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&name), &size);
  return ToString(AddressOf(name, size));
}

bool Send(const Socket& socket, const Message& message) {
  const Packet packet = PacketOf(message);
  std::string body;
  AppendNumber(packet.kind, body);
  for (const std::string& field : packet.fields) {
    AppendNumber(static_cast<uint32_t>(field.size()), body);
    body += field;
  }
  std::string bytes;
  AppendNumber(static_cast<uint32_t>(body.size()), bytes);
  bytes += body;
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<size_t>(count);
    if (count < 0 && errno == EAGAIN) {
      pollfd wait = {socket.descriptor(), POLLOUT, 0};
      if (poll(&wait, 1, 10000) <= 0) return false;
    } else if (count < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

Inbox::State Inbox::Receive(const Socket& socket) {
  char buffer[65536];
  const ssize_t count = recv(socket.descriptor(), buffer, sizeof buffer, 0);
  if (count > 0) {
    bytes_.append(buffer, static_cast<size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    state_ = State::kClosed;
  }
  return state_;
}

std::optional<Message> Inbox::Next() {
  size_t at = 0;
  if (state_ == State::kMalformed || bytes_.size() < sizeof(uint32_t)) return std::nullopt;
  const auto malformed = [this] {
    state_ = State::kMalformed;
    return std::nullopt;
  };
  const size_t size = NumberAt(bytes_, at);
  if (size < sizeof(uint32_t) || size > longest_) return malformed();
  const size_t end = at + size;
  if (bytes_.size() < end) return std::nullopt;
  Packet packet;
  packet.kind = NumberAt(bytes_, at);
  while (end - at >= sizeof(uint32_t)) {
    const size_t length = NumberAt(bytes_, at);
    if (length > end - at || packet.fields.size() == kMostFields) return malformed();
    packet.fields.push_back(bytes_.substr(at, length));
    at += length;
  }
  if (at != end) return malformed();
  bytes_.erase(0, end);
  std::optional<Message> message = MessageOf(std::move(packet));
  if (!message.has_value()) return malformed();
  return message;
}

bool WaitToReceive(const Socket& socket, double deadline) {
  pollfd wait = {socket.descriptor(), POLLIN, 0};
  while (true) {
    const double left = deadline - Now();
    if (left <= 0) return false;
    if (poll(&wait, 1, static_cast<int>(std::min(left, 1000.0) * 1000) + 1) > 0) return true;
  }
}

}  // namespace cleave::runtime
