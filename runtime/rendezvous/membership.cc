#include "runtime/rendezvous/membership.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/rendezvous/meeting.h"
#include "runtime/rendezvous/socket.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr double kGreetingSeconds =
    10;  // The time in which whatever listens there must show that it is a meeting point.
constexpr int kPauseMilliseconds = 20;
constexpr double kForever = 1e9;
constexpr double kGraceSeconds = 10;  // The time that a meeting point has to say why it ends, after the time limit.

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// An error that every rank finds by itself is printed once per host.
bool IsFirstOfHost(const Placement& placement) { return placement.local_rank <= 0; }

}  // namespace

struct Membership::State {
  Placement placement;
  double join_timeout = 0;
  std::unique_ptr<Meeting> meeting;  // In rank 0 where there is no scheduler.
  std::thread meeting_thread;
  Socket socket;
  Inbox inbox;
  int rank = 0;
  std::vector<std::string> hosts;
  std::thread watcher;
  std::atomic<bool> is_closing{false};  // By this side: this is not the end of the job.
  std::mutex mutex;
  std::condition_variable changed;
  // Protected by `mutex`; `changed` tells of changes:
  std::vector<std::string> offers;  // Not yet taken by Exchange.
  bool has_bye = false;
  std::optional<Error> problem;

  Error MeetingPointIsGone() const;
  Error NotReached(const Error& error) const;
  Result<Packet> Receive(double until);
  Result<Packet> Await(Packet::Kind kind, double until);
  Error EndOf(const Packet& message) const;
  std::optional<Error> Open(const JoinPlan& plan);
  std::optional<Error> Reach();
  std::optional<Error> Enter(const JoinPlan& plan);
  void Listen(const std::function<void(const Error&)>& end);
};

Error Membership::State::MeetingPointIsGone() const {
  if (placement.has_scheduler) {
    return {ExitCode::kFailed, rank == 0 ? Format("%s is gone: its connection closed", placement.source.c_str()) : ""};
  }
  // Rank 0 was the meeting point, and cannot report it.
  return {ExitCode::kFailed, rank == 1 ? "rank 0 is gone: its connection closed" : ""};
}

Error Membership::State::NotReached(const Error& error) const {
  const bool speaks = IsFirstOfHost(placement) || rank == 1;
  if (!speaks) return {error.code, ""};
  if (error.code != ExitCode::kFailed) return error;
  return {error.code,
          Format("%s: %s within %g s (CLEAVE_JOIN_TIMEOUT)", error.message.c_str(),
                 placement.has_scheduler ? "the scheduler did not start" : "rank 0 did not join", join_timeout)};
}

Error Membership::State::EndOf(const Packet& message) const {
  if (message.fields.size() != 3) return MeetingPointIsGone();
  const bool speaks = message.fields[2] == "1";
  return {static_cast<ExitCode>(std::atoi(message.fields[0].c_str())), speaks ? message.fields[1] : ""};
}

// The next message; an Error when time is over, the connection closed, or the job ends.
Result<Packet> Membership::State::Receive(double until) {
  while (true) {
    if (std::optional<Packet> message = inbox.Next()) {
      if (message->kind == Packet::Kind::kEnd) return EndOf(*message);
      return *message;
    }
    if (!WaitToReceive(socket, until) || inbox.Receive(socket) != Inbox::State::kOpen) return MeetingPointIsGone();
  }
}

Result<Packet> Membership::State::Await(Packet::Kind kind, double until) {
  Result<Packet> message = Receive(until);
  if (message.ok() && message.value().kind != kind) return MeetingPointIsGone();
  return message;
}

// In rank 0: listens. The thread that runs the meeting begins when this rank's own connection waits there, so that this
// rank is told of everything that happens.
std::optional<Error> Membership::State::Open(const JoinPlan& plan) {
  Result<std::unique_ptr<Meeting>> opened =
      Meeting::Listen(placement.meeting, {plan.ranks, plan.join_timeout, false, placement.hosts});
  if (!opened.ok()) return opened.error();
  meeting = std::move(opened.value());
  return std::nullopt;
}

// Connects and waits for the greeting. A meeting point that has just ended, or has not yet begun, may close a
// connection.
std::optional<Error> Membership::State::Reach() {
  const double deadline = Now() + join_timeout;
  while (true) {
    Result<Socket> connected = Connect(placement.meeting, deadline);
    if (!connected.ok()) return NotReached(connected.error());
    socket = std::move(connected.value());
    inbox = Inbox();
    if (meeting != nullptr && !meeting_thread.joinable()) meeting_thread = std::thread([this] { meeting->Run(); });
    if (Await(Packet::Kind::kHello, std::min(deadline, Now() + kGreetingSeconds)).ok()) return std::nullopt;
    const bool was_closed = inbox.state() == Inbox::State::kClosed;
    if (was_closed && Now() < deadline) {
      poll(nullptr, 0, kPauseMilliseconds);
      continue;
    }
    return NotReached(
        {ExitCode::kEnvironment,
         Format("what listens at %s is not %s of this job: is the port in use by another program?",
                ToString(placement.meeting).c_str(), placement.has_scheduler ? "the scheduler" : "rank 0")});
  }
}

std::optional<Error> Membership::State::Enter(const JoinPlan& plan) {
  if (const std::optional<Error> error = Reach()) return error;
  Send(socket, {Packet::Kind::kJoin,
                {placement.rank.has_value() ? std::to_string(*placement.rank) : "", std::to_string(plan.ranks),
                 std::to_string(placement.local_rank), HostName()}});
  const Result<Packet> welcome = Await(Packet::Kind::kWelcome, Now() + join_timeout + kGraceSeconds);
  if (!welcome.ok()) return welcome.error();
  const std::vector<std::string>& fields = welcome.value().fields;
  if (fields.size() != static_cast<size_t>(plan.ranks) + 2) return MeetingPointIsGone();
  rank = std::atoi(fields[0].c_str());
  hosts.assign(fields.begin() + 2, fields.end());
  return std::nullopt;
}

Result<std::unique_ptr<Membership>> Membership::Join(const Placement& placement, const JoinPlan& plan) {
  auto state = std::make_unique<State>();
  state->placement = placement;
  state->join_timeout = plan.join_timeout;
  state->rank =
      placement.rank.value_or(std::max(0, placement.local_rank));  // For messages, until the scheduler gives the rank.
  std::optional<Error> error;
  if (placement.rank == 0 && !placement.has_scheduler) error = state->Open(plan);
  if (!error.has_value()) error = state->Enter(plan);
  std::unique_ptr<Membership> membership(new Membership(std::move(state)));
  if (error.has_value()) return *error;
  return membership;
}

Membership::Membership(std::unique_ptr<State> state) : state_(std::move(state)) {}

Membership::~Membership() {
  // For the others, a rank that has not left is lost.
  state_->is_closing = true;
  if (state_->socket.is_open()) shutdown(state_->socket.descriptor(), SHUT_RDWR);
  if (state_->watcher.joinable()) state_->watcher.join();
  state_->socket.Close();
  if (state_->meeting_thread.joinable()) state_->meeting_thread.join();
}

int Membership::rank() const { return state_->rank; }
const std::vector<std::string>& Membership::hosts() const { return state_->hosts; }
std::string Membership::own_address() const { return LocalAddress(state_->socket).host; }

int Membership::local_ranks() const {
  const std::string& own = state_->hosts[static_cast<size_t>(state_->rank)];
  return static_cast<int>(std::count(state_->hosts.begin(), state_->hosts.end(), own));
}

void Membership::Watch(std::function<void(const Error&)> end) {
  state_->watcher = std::thread([this, end = std::move(end)] { state_->Listen(end); });
}

// Takes the messages of the meeting point, until the last one.
void Membership::State::Listen(const std::function<void(const Error&)>& end) {
  while (true) {
    Result<Packet> packet = Receive(Now() + kForever);
    std::unique_lock<std::mutex> lock(mutex);
    if (!packet.ok()) {
      problem = packet.error();
    } else if (packet.value().kind == Packet::Kind::kOffers) {
      offers = std::move(packet.value().fields);
    } else {
      has_bye = packet.value().kind == Packet::Kind::kBye;
    }
    lock.unlock();
    if (problem.has_value() && !is_closing) end(*problem);
    changed.notify_all();
    if (problem.has_value() || has_bye) return;
  }
}

Result<std::vector<std::string>> Membership::Exchange(const std::string& mine) {
  Send(state_->socket, {Packet::Kind::kOffer, {mine}});
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->problem.has_value() || !state_->offers.empty(); });
  if (state_->problem.has_value()) return *state_->problem;
  return std::exchange(state_->offers, {});
}

std::optional<Error> Membership::Leave() {
  Send(state_->socket, {Packet::Kind::kLeave, {}});
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->problem.has_value() || state_->has_bye; });
  return state_->problem;
}

}  // namespace cleave::runtime
