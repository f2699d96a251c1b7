#include "runtime/rendezvous/meeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/rendezvous/socket.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr double kLingerSeconds = 5;
constexpr double kAnswerSeconds = 2;  // In which a rank must say where it is.
constexpr int kMoreStrangers = 64;    // Connections that have not joined may be so many more than the ranks.
constexpr int kMostTurnedAwayLogged = 10;

// Takes the same time wherever they differ, so that nobody can find a secret byte by byte.
bool IsSameSecret(const std::string& given, const std::string& secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size() && !secret.empty(); ++i) {
    difference |= static_cast<unsigned char>(given[i] ^ secret[i % secret.size()]);
  }
  return difference == 0;
}

bool IsOfThisHostOnly(const Address& address) { return address.host.rfind("127.", 0) == 0 || address.host == "::1"; }

}  // namespace

struct Meeting::State {
  // A connection, and the rank behind it.
  struct Member {
    Socket socket;
    Inbox inbox{Inbox::kLongestOfStranger};
    bool has_joined = false;
    bool has_left = false;
    bool is_turned_away = false;
    bool asks = false;
    int rank = -1;  // -1: not known yet.
    int local_rank = -1;
    std::string host;
    std::optional<std::string> offer;
    std::optional<std::string> answer;
  };

  MeetingPlan plan;
  Socket listener;
  std::vector<std::unique_ptr<Member>> members;  // In the order in which they came.
  bool all_have_joined = false;
  int turned_away = 0;
  int misfits = 0;                        // Of these, programs that have another plan.
  std::optional<double> answers_are_due;  // While ranks are asked where they are.
  std::optional<MeetingEnd> end;

  void Poll(double deadline);
  void Hear(Member& member);
  void Welcome(Socket socket);
  void Take(Member& member, const Message& message);
  void TakeJoin(Member& member, const JoinRequest& join);
  std::string MistakeIn(const JoinRequest& join) const;
  void TurnAway(Member& member, const std::string& why);
  void GiveRanks();
  void PassOnOffers();
  void Ask(Member& member);
  void PassOnAnswers();
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
  Message Silence() const { return cleave::runtime::End{end->code, ""}; }

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
  if (state.plan.secret.empty() && !IsOfThisHostOnly(address())) {
    std::fprintf(
        stderr, "note: who reaches %s can join this job and end it: set CLEAVE_SECRET to the same text for all ranks\n",
        ToString(address()).c_str());
  }
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
  double until = Now() + 60;
  if (!all_have_joined) until = std::min(until, deadline);
  if (answers_are_due.has_value()) until = std::min(until, *answers_are_due);
  poll(waits.data(), waits.size(), static_cast<int>(std::max(0.0, until - Now()) * 1000) + 1);
  // What one of them says may change the order of all.
  std::vector<Member*> heard;
  for (size_t i = 1; i < waits.size(); ++i) {
    if (waits[i].revents != 0) heard.push_back(members[i - 1].get());
  }
  for (Member* const member : heard) {
    if (member->socket.is_open() && !end.has_value()) Hear(*member);
  }
  if (answers_are_due.has_value() && Now() >= *answers_are_due && !end.has_value()) PassOnAnswers();
  RemoveClosed();
  if (waits[0].revents != 0 && !end.has_value()) Welcome(Accept(listener));
}

// Takes what has arrived from a connection.
void Meeting::State::Hear(Member& member) {
  member.inbox.Receive(member.socket);
  if (member.is_turned_away) {
    // It has been told, and closes the connection itself: otherwise it might not get what it has been told.
    const bool is_closed = member.inbox.state() == Inbox::State::kClosed;
    member.inbox = Inbox(Inbox::kLongestOfStranger);
    if (is_closed) member.socket.Close();
    return;
  }
  while (const std::optional<Message> message = member.inbox.Next()) {
    if (!end.has_value() && !member.is_turned_away) Take(member, *message);
  }
  if (member.inbox.state() == Inbox::State::kOpen || end.has_value() || member.is_turned_away) return;
  if (member.has_joined) {
    Lose(member);
  } else if (member.inbox.state() == Inbox::State::kMalformed) {
    TurnAway(member, "what it sent is not what a rank sends");
  } else {
    member.socket.Close();  // It comes from somebody who is not part of this job.
  }
}

void Meeting::State::Welcome(Socket socket) {
  if (!socket.is_open() || !Send(socket, Hello{})) return;
  if (static_cast<int>(members.size()) - CountOf(&Member::has_joined) >= plan.ranks + kMoreStrangers) {
    const auto is_stranger = [](const auto& one) { return !one->has_joined; };
    members.erase(std::find_if(members.begin(), members.end(), is_stranger));
  }
  members.push_back(std::make_unique<Member>());
  members.back()->socket = std::move(socket);
}

void Meeting::State::Take(Member& member, const Message& message) {
  if (const auto* join = std::get_if<JoinRequest>(&message)) {
    if (!member.has_joined) TakeJoin(member, *join);
  } else if (!member.has_joined) {
    TurnAway(member, "it did not ask to join");
  } else if (const auto* offer = std::get_if<Offer>(&message)) {
    member.offer = offer->text;
    PassOnOffers();
  } else if (std::holds_alternative<Question>(message)) {
    Ask(member);
  } else if (const auto* answer = std::get_if<Answer>(&message)) {
    member.answer = answer->text;
    PassOnAnswers();
  } else if (std::holds_alternative<Departure>(message)) {
    member.has_left = true;
    SayGoodbye();
  }
  // Only this side sends the others.
}

void Meeting::State::TakeJoin(Member& member, const JoinRequest& join) {
  if (!IsSameSecret(join.secret, plan.secret)) {
    return TurnAway(member, "its CLEAVE_SECRET is not the one of this job");
  }
  if (all_have_joined) return TurnAway(member, "the job has all its ranks already");
  const std::string mistake = MistakeIn(join);
  if (!mistake.empty() && plan.secret.empty()) {
    // It may be a rank of another job. But a scheduler that nobody else has joined knows that those are its own ranks
    // when as many have come as it waits for.
    const bool are_ours = plan.gives_ranks && CountOf(&Member::has_joined) == 0 && ++misfits == plan.ranks;
    if (!are_ours) return TurnAway(member, mistake);
  }
  member.has_joined = true;
  member.inbox.SetLongestPacket(Inbox::kLongestOfMember);
  member.rank = join.rank.value_or(-1);
  member.local_rank = join.local_rank;
  member.host = join.host;
  if (!mistake.empty()) return End(ExitCode::kInput, mistake);
  if (CountOf(&Member::has_joined) == plan.ranks) GiveRanks();
}

// Why a rank that joins cannot be part of this job; empty: it can.
std::string Meeting::State::MistakeIn(const JoinRequest& join) const {
  if (join.ranks != plan.ranks) {
    return Format("a program with a plan for %d rank%s joined from host %s; this job has %d", join.ranks,
                  join.ranks == 1 ? "" : "s", join.host.c_str(), plan.ranks);
  }
  if (join.rank.has_value() == plan.gives_ranks) {
    return Format("a rank that %s a number joined from host %s; in this job %s", plan.gives_ranks ? "has" : "has not",
                  join.host.c_str(), plan.gives_ranks ? "the scheduler gives it" : "each has one");
  }
  for (const auto& other : members) {
    if (!other->has_joined || !join.rank.has_value() || other->rank != *join.rank) continue;
    return Format("rank %d joined twice, from host %s and from host %s", *join.rank, other->host.c_str(),
                  join.host.c_str());
  }
  return "";
}

// The job goes on without it.
void Meeting::State::TurnAway(Member& member, const std::string& why) {
  member.is_turned_away = true;
  if (++turned_away <= kMostTurnedAwayLogged) {
    std::fprintf(stderr, "warning: %s was turned away from this job: %s%s\n", PeerName(member.socket).c_str(),
                 why.c_str(), turned_away == kMostTurnedAwayLogged ? "; what follows is not shown" : "");
  }
  Send(member.socket,
       cleave::runtime::End{ExitCode::kInput, Format("turned away by the job that meets at %s: %s",
                                                     ToString(LocalAddress(listener)).c_str(), why.c_str())});
  shutdown(member.socket.descriptor(), SHUT_WR);
}

void Meeting::State::GiveRanks() {
  all_have_joined = true;
  for (const auto& member : members) {
    if (!member->has_joined) member->socket.Close();  // It is not part of this job.
  }
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return std::tie(a->rank, a->host, a->local_rank) < std::tie(b->rank, b->host, b->local_rank);
  });
  cleave::runtime::Welcome welcome;
  for (const auto& member : members) {
    if (member->has_joined) welcome.hosts.push_back(member->host);
  }
  for (const auto& member : members) {
    if (!member->has_joined) continue;
    member->rank = welcome.rank;
    Send(member->socket, welcome);
    ++welcome.rank;
  }
}

void Meeting::State::PassOnOffers() {
  if (!all_have_joined) return;
  Offers offers;
  for (const auto& member : members) {
    if (!member->has_joined) continue;
    if (!member->offer.has_value()) return;
    offers.texts.push_back(*member->offer);
  }
  for (const auto& member : members) {
    if (!member->has_joined) continue;
    member->offer.reset();
    Send(member->socket, offers);
  }
}

void Meeting::State::Ask(Member& member) {
  if (!all_have_joined) return;
  member.asks = true;
  if (answers_are_due.has_value()) return;  // The others are being asked.
  answers_are_due = Now() + kAnswerSeconds;
  for (const auto& other : members) {
    other->answer.reset();
    if (other->has_joined) Send(other->socket, Question{});
  }
}

// Once all have answered, or time is over.
void Meeting::State::PassOnAnswers() {
  if (!answers_are_due.has_value()) return;
  Answers answers;
  for (const auto& member : members) {
    if (!member->has_joined) continue;
    if (!member->answer.has_value() && Now() < *answers_are_due) return;
    answers.texts.push_back(member->answer.value_or(""));
  }
  answers_are_due.reset();
  for (const auto& member : members) {
    if (std::exchange(member->asks, false)) Send(member->socket, answers);
  }
}

void Meeting::State::SayGoodbye() {
  if (!all_have_joined || CountOf(&Member::has_left) < plan.ranks) return;
  // Rank 0 comes last: it may be this very process, which may end when it gets the packet.
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if ((*member)->has_joined) Send((*member)->socket, Goodbye{});
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
  Send(speaker->socket, cleave::runtime::End{code, message});
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
      if (waits[i].revents == 0) continue;
      if (member.inbox.Receive(member.socket) != Inbox::State::kOpen) member.socket.Close();
      member.inbox = Inbox();  // What it says does not matter any more.
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
