#include "runtime/rendezvous/meeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/rendezvous/socket.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr double kLingerSeconds = 5;

}  // namespace

struct Meeting::State {
  // A connection, and the rank behind it.
  struct Member {
    Socket socket;
    Inbox inbox;
    bool has_joined = false;
    bool has_left = false;
    int rank = -1;  // -1: not known yet.
    int local_rank = -1;
    std::string host;
    std::optional<std::string> offer;
  };

  MeetingPlan plan;
  Socket listener;
  std::vector<std::unique_ptr<Member>> members;  // In the order in which they came.
  bool all_have_joined = false;
  std::optional<MeetingEnd> end;

  void Poll(double deadline);
  void Welcome(Socket socket);
  void Take(Member& member, const Packet& message);
  void TakeJoin(Member& member, const std::vector<std::string>& fields);
  void GiveRanks();
  void PassOnOffers();
  void SayGoodbye();
  void Lose(Member& member);
  void GiveUpWaiting();
  void End(ExitCode code, const std::string& message);
  void Linger();
  void RemoveClosed() {
    const auto is_closed = [](const auto& one) { return !one->socket.is_open(); };
    members.erase(std::remove_if(members.begin(), members.end(), is_closed), members.end());
  }

  // The end of the job for all ranks that do not print its reason.
  Packet Silence() const { return {Packet::Kind::kEnd, {std::to_string(static_cast<int>(end->code)), "", "0"}}; }

  int CountOf(bool Member::*flag) const {
    return static_cast<int>(
        std::count_if(members.begin(), members.end(), [&](const auto& one) { return (*one).*flag; }));
  }
};

Result<std::unique_ptr<Meeting>> Meeting::Listen(const Address& address, const MeetingPlan& plan) {
  Result<Socket> listener = cleave::runtime::Listen(address);
  if (!listener.ok()) return listener.error();
  auto state = std::make_unique<State>();
  state->plan = plan;
  state->listener = std::move(listener.value());
  return std::unique_ptr<Meeting>(new Meeting(std::move(state)));
}

Meeting::Meeting(std::unique_ptr<State> state) : state_(std::move(state)) {}
Meeting::~Meeting() = default;

Address Meeting::address() const { return LocalAddress(state_->listener); }

MeetingEnd Meeting::Run() {
  State& state = *state_;
  const double deadline = Now() + state.plan.join_timeout;
  while (!state.end.has_value()) {
    state.Poll(deadline);
    if (!state.all_have_joined && Now() >= deadline && !state.end.has_value()) state.GiveUpWaiting();
  }
  if (state.end->code == ExitCode::kInput) state.Linger();
  return *state.end;
}

// Waits for the next event on any connection, and handles it.
void Meeting::State::Poll(double deadline) {
  std::vector<pollfd> waits = {{listener.descriptor(), POLLIN, 0}};
  for (const auto& member : members) waits.push_back({member->socket.descriptor(), POLLIN, 0});
  const double left = all_have_joined ? 60 : std::max(0.0, deadline - Now());
  poll(waits.data(), waits.size(), static_cast<int>(std::min(left, 60.0) * 1000) + 1);
  for (size_t i = 1; i < waits.size() && !end.has_value(); ++i) {
    Member& member = *members[i - 1];
    if (waits[i].revents == 0) continue;
    Inbox::State state = member.inbox.Receive(member.socket);
    while (const std::optional<Packet> message = member.inbox.Next()) {
      if (!end.has_value()) Take(member, *message);
    }
    if (state == Inbox::State::kOpen || end.has_value()) continue;
    if (member.has_joined) {
      Lose(member);
    } else {
      member.socket.Close();  // It comes from somebody who is not part of this job.
    }
  }
  RemoveClosed();
  if (waits[0].revents != 0 && !end.has_value()) Welcome(Accept(listener));
}

void Meeting::State::Welcome(Socket socket) {
  if (!socket.is_open() || !Send(socket, {Packet::Kind::kHello, {}})) return;
  members.push_back(std::make_unique<Member>());
  members.back()->socket = std::move(socket);
}

void Meeting::State::Take(Member& member, const Packet& message) {
  switch (message.kind) {
    case Packet::Kind::kJoin:
      return TakeJoin(member, message.fields);
    case Packet::Kind::kOffer:
      if (!member.has_joined || message.fields.size() != 1) return;
      member.offer = message.fields[0];
      return PassOnOffers();
    case Packet::Kind::kLeave:
      member.has_left = member.has_joined;
      return SayGoodbye();
    case Packet::Kind::kHello:
    case Packet::Kind::kWelcome:
    case Packet::Kind::kOffers:
    case Packet::Kind::kBye:
    case Packet::Kind::kEnd:
      return;  // Only this side sends such packets.
  }
}

// Fields: rank or "", ranks that its program has, number on its host, host name.
void Meeting::State::TakeJoin(Member& member, const std::vector<std::string>& fields) {
  if (fields.size() != 4 || member.has_joined) return;
  if (all_have_joined) {
    Send(member.socket, {Packet::Kind::kEnd, {"3", "the job has all its ranks already", "1"}});
    return;
  }
  member.has_joined = true;
  member.rank = fields[0].empty() ? -1 : std::atoi(fields[0].c_str());
  member.local_rank = std::atoi(fields[2].c_str());
  member.host = fields[3];
  const int ranks = std::atoi(fields[1].c_str());
  if (ranks != plan.ranks) {
    return End(ExitCode::kInput, Format("a program with a plan for %d rank%s joined from host %s; this job has %d",
                                        ranks, ranks == 1 ? "" : "s", member.host.c_str(), plan.ranks));
  }
  for (const auto& other : members) {
    if (member.rank < 0 || other.get() == &member || other->rank != member.rank) continue;
    return End(ExitCode::kInput, Format("rank %d joined twice, from host %s and from host %s", member.rank,
                                        other->host.c_str(), member.host.c_str()));
  }
  if (CountOf(&Member::has_joined) == plan.ranks) GiveRanks();
}

void Meeting::State::GiveRanks() {
  all_have_joined = true;
  // A connection that has not joined by now is not part of this job.
  members.erase(std::remove_if(members.begin(), members.end(), [](const auto& one) { return !one->has_joined; }),
                members.end());
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return std::tie(a->rank, a->host, a->local_rank) < std::tie(b->rank, b->host, b->local_rank);
  });
  std::vector<std::string> fields = {"", std::to_string(plan.ranks)};
  for (const auto& member : members) fields.push_back(member->host);
  for (size_t rank = 0; rank < members.size(); ++rank) {
    members[rank]->rank = static_cast<int>(rank);
    fields[0] = std::to_string(rank);
    Send(members[rank]->socket, {Packet::Kind::kWelcome, fields});
  }
}

void Meeting::State::PassOnOffers() {
  if (!all_have_joined) return;
  Packet offers = {Packet::Kind::kOffers, {}};
  for (const auto& member : members) {
    if (!member->offer.has_value()) return;
    offers.fields.push_back(*member->offer);
  }
  for (const auto& member : members) {
    member->offer.reset();
    Send(member->socket, offers);
  }
}

void Meeting::State::SayGoodbye() {
  if (!all_have_joined || CountOf(&Member::has_left) < plan.ranks) return;
  // Rank 0 comes last: it may be this very process, which may end when it gets the packet.
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    Send((*member)->socket, {Packet::Kind::kBye, {}});
  }
  end = MeetingEnd{};
}

void Meeting::State::Lose(Member& member) {
  const std::string who = member.rank >= 0 ? Format("rank %d", member.rank) : std::string("a rank that had joined");
  const bool is_named = member.rank >= 0 && static_cast<size_t>(member.rank) < plan.hosts.size();
  const std::string& host = is_named ? plan.hosts[static_cast<size_t>(member.rank)] : member.host;
  member.has_joined = false;
  End(ExitCode::kFailed, Format("%s on host %s is gone: its connection closed", who.c_str(), host.c_str()));
}

void Meeting::State::GiveUpWaiting() {
  std::vector<bool> is_there(static_cast<size_t>(plan.ranks), false);
  for (const auto& member : members) {
    if (member->has_joined && member->rank >= 0) is_there[static_cast<size_t>(member->rank)] = true;
  }
  const int joined = CountOf(&Member::has_joined);
  std::string missing = Format("%d rank%s", plan.ranks - joined, plan.ranks - joined == 1 ? "" : "s");
  if (!plan.gives_ranks) {
    missing.clear();
    for (size_t rank = 0; rank < is_there.size(); ++rank) {
      if (is_there[rank]) continue;
      missing += Format("%srank %zu", missing.empty() ? "" : ", ", rank);
      if (rank < plan.hosts.size()) missing += Format(" on %s", plan.hosts[rank].c_str());
    }
  }
  std::string there;
  for (const auto& member : members) {
    if (plan.gives_ranks && member->has_joined) there += (there.empty() ? " (from " : ", ") + member->host;
  }
  if (!there.empty()) there += ")";
  End(ExitCode::kFailed, Format("%s did not join within %g s, %d of %d did%s; the job is ended (CLEAVE_JOIN_TIMEOUT)",
                                missing.c_str(), plan.join_timeout, joined, plan.ranks, there.c_str()));
}

// Tells all ranks that are there that the job ends. The lowest rank prints the reason; where ranks have no numbers yet,
// this process does.
void Meeting::State::End(ExitCode code, const std::string& message) {
  const Member* speaker = nullptr;
  for (const auto& member : members) {
    const bool can_speak = member->has_joined && member->rank >= 0;
    if (can_speak && (speaker == nullptr || member->rank < speaker->rank)) speaker = member.get();
  }
  end = MeetingEnd{code, speaker == nullptr ? message : ""};
  for (const auto& member : members) {
    if (member.get() == speaker) continue;
    Send(member->socket, Silence());
    shutdown(member->socket.descriptor(), SHUT_WR);
  }
  if (speaker == nullptr) return;
  // The rank that prints comes last: rank 0 may be this very process, which ends when it gets the packet.
  Send(speaker->socket, {Packet::Kind::kEnd, {std::to_string(static_cast<int>(code)), message, "1"}});
  shutdown(speaker->socket.descriptor(), SHUT_WR);
}

// Ranks that join a job which has been refused are told so, and do not wait for a meeting that will never take place.
void Meeting::State::Linger() {
  const double until = Now() + kLingerSeconds;
  size_t told = members.size();
  while (Now() < until && (told < static_cast<size_t>(plan.ranks) || !members.empty())) {
    std::vector<pollfd> waits = {{listener.descriptor(), POLLIN, 0}};
    for (const auto& member : members) waits.push_back({member->socket.descriptor(), POLLIN, 0});
    poll(waits.data(), waits.size(), static_cast<int>((until - Now()) * 1000) + 1);
    for (size_t i = 1; i < waits.size(); ++i) {
      Member& member = *members[i - 1];
      if (waits[i].revents != 0 && member.inbox.Receive(member.socket) != Inbox::State::kOpen) member.socket.Close();
    }
    RemoveClosed();
    if (waits[0].revents == 0) continue;
    const size_t before = members.size();
    Welcome(Accept(listener));
    if (members.size() == before) continue;
    Send(members.back()->socket, Silence());
    ++told;
  }
}

}  // namespace cleave::runtime
