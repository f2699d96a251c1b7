#include "runtime/rendezvous/membership.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/rendezvous/meeting.h"
#include "runtime/rendezvous/socket.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

// The time in which whatever listens there must show that it is a meeting point.
constexpr double kGreetingSeconds = 10;
constexpr int kPauseMilliseconds = 20;
constexpr double kForever = 1e9;
// For all ranks to say where they are: more than the meeting point waits.
constexpr std::chrono::seconds kAnswerTime{4};
// The time that a meeting point has to say why it ends, after the time limit.
constexpr double kGraceSeconds = 10;

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
  std::mutex sending;                   // Several threads send, one message at a time.
  std::mutex mutex;
  std::condition_variable changed;
  // Protected by `mutex`; `changed` tells of changes:
  std::vector<std::string> offers;   // Not yet taken by Exchange.
  std::vector<std::string> answers;  // Not yet taken by AskWhere.
  bool has_bye = false;
  std::optional<Error> problem;

  Error MeetingPointIsGone() const;
  Error NotReached(const Error& error) const;
  void Say(const Message& message) {
    const std::lock_guard<std::mutex> lock(sending);
    Send(socket, message);
  }
  Result<Message> Receive(double until);
  template <typename Expected>
  Result<Expected> Await(double until);
  std::optional<Error> Open(const JoinPlan& plan);
  std::optional<Error> Reach();
  std::optional<Error> Enter(const JoinPlan& plan);
  void Listen(const std::function<void(const Error&)>& end, const std::function<std::string()>& where);
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

// The next message; an Error when time is over, the connection closed, or the job ends.
Result<Message> Membership::State::Receive(double until) {
  while (true) {
    if (std::optional<Message> message = inbox.Next()) {
      if (const End* const end = std::get_if<End>(&*message)) return Error{end->code, end->message};
      return *message;
    }
    if (inbox.state() != Inbox::State::kOpen || !WaitToReceive(socket, until)) return MeetingPointIsGone();
    inbox.Receive(socket);
  }
}

template <typename Expected>
Result<Expected> Membership::State::Await(double until) {
  Result<Message> message = Receive(until);
  if (!message.ok()) return message.error();
  if (Expected* const expected = std::get_if<Expected>(&message.value())) return std::move(*expected);
  return MeetingPointIsGone();
}

// In rank 0: listens. The thread that runs the meeting begins when this rank's own connection waits there, so that this
// rank is told of everything that happens.
std::optional<Error> Membership::State::Open(const JoinPlan& plan) {
  Result<std::unique_ptr<Meeting>> opened = Meeting::Listen(
      placement.meeting, {plan.ranks, plan.join_timeout, /*gives_ranks=*/false, placement.hosts, plan.secret});
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
    if (Await<Hello>(std::min(deadline, Now() + kGreetingSeconds)).ok()) return std::nullopt;
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
  Say(JoinRequest{placement.rank, plan.ranks, placement.local_rank, HostName(), plan.secret});
  Result<Welcome> welcome = Await<Welcome>(Now() + join_timeout + kGraceSeconds);
  if (!welcome.ok()) return welcome.error();
  if (welcome.value().hosts.size() != static_cast<size_t>(plan.ranks)) return MeetingPointIsGone();
  rank = welcome.value().rank;
  hosts = std::move(welcome.value().hosts);
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
bool Membership::meets_at_rank_0() const { return !state_->placement.has_scheduler; }
const std::vector<std::string>& Membership::hosts() const { return state_->hosts; }
std::string Membership::own_address() const { return LocalAddress(state_->socket).host; }

int Membership::local_ranks() const {
  const std::string& own = state_->hosts[static_cast<size_t>(state_->rank)];
  return static_cast<int>(std::count(state_->hosts.begin(), state_->hosts.end(), own));
}

void Membership::Watch(std::function<void(const Error&)> end, std::function<std::string()> where) {
  state_->watcher = std::thread([this, end = std::move(end), where = std::move(where)] { state_->Listen(end, where); });
}

// Takes the messages of the meeting point, until the last one.
void Membership::State::Listen(const std::function<void(const Error&)>& end,
                               const std::function<std::string()>& where) {
  while (true) {
    Result<Message> message = Receive(Now() + kForever);
    if (message.ok() && std::holds_alternative<Question>(message.value())) {
      Say(Answer{where()});
      continue;
    }
    std::unique_lock<std::mutex> lock(mutex);
    if (!message.ok()) {
      problem = message.error();
    } else if (Offers* const arrived = std::get_if<Offers>(&message.value())) {
      offers = std::move(arrived->texts);
    } else if (Answers* const answered = std::get_if<Answers>(&message.value())) {
      answers = std::move(answered->texts);
    } else {
      has_bye = std::holds_alternative<Goodbye>(message.value());
    }
    lock.unlock();
    if (problem.has_value() && !is_closing) end(*problem);
    changed.notify_all();
    if (problem.has_value() || has_bye) return;
  }
}

std::vector<std::string> Membership::AskWhere() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->answers.clear();  // An answer to an earlier question that came too late.
  state_->Say(Question{});
  state_->changed.wait_for(lock, kAnswerTime, [&] { return state_->problem.has_value() || !state_->answers.empty(); });
  return std::exchange(state_->answers, {});
}

Result<std::vector<std::string>> Membership::Exchange(const std::string& mine) {
  state_->Say(Offer{mine});
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->problem.has_value() || !state_->offers.empty(); });
  if (state_->problem.has_value()) return *state_->problem;
  return std::exchange(state_->offers, {});
}

std::optional<Error> Membership::Leave() {
  state_->Say(Departure{});
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->problem.has_value() || state_->has_bye; });
  return state_->problem;
}

}  // namespace cleave::runtime
