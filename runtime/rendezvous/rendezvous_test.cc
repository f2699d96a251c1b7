// Tests whole meetings of ranks that are threads of this process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"
#include "runtime/rendezvous/meeting.h"
#include "runtime/rendezvous/membership.h"
#include "runtime/rendezvous/socket.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

using Joined = Result<std::unique_ptr<Membership>>;

Address FreeAddress() {
  Result<Socket> listener = Listen({"127.0.0.1", 0});
  return LocalAddress(listener.value());
}

Placement PlacementOf(int rank, const Address& meeting) {
  Placement placement;
  placement.rank = rank;
  placement.local_rank = rank;
  placement.meeting = meeting;
  return placement;
}

Placement ByScheduler(int local_rank, const Address& meeting) {
  Placement placement;
  placement.source = "the scheduler";
  placement.local_rank = local_rank;
  placement.meeting = meeting;
  placement.has_scheduler = true;
  return placement;
}

// Runs `body` in a thread for each of the numbers, and waits for all.
template <typename Body>
void InThreads(const std::vector<int>& numbers, const Body& body) {
  std::vector<std::thread> threads;
  for (const int number : numbers) threads.emplace_back([&body, number] { body(number); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Rendezvous, RanksMeetTellEachOtherAndLeave) {
  const Address meeting = FreeAddress();
  InThreads({3, 0, 2, 1}, [&](int rank) {
    Joined joined = Membership::Join(PlacementOf(rank, meeting), {4, 20, ""});
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    Membership& member = *joined.value();
    EXPECT_EQ(member.rank(), rank);
    EXPECT_EQ(member.local_ranks(), 4);
    EXPECT_EQ(member.own_address(), "127.0.0.1");
    member.Watch([](const Error& error) { ADD_FAILURE() << error.message; }, [] { return ""; });
    for (const char* round : {"a", "b"}) {
      const Result<std::vector<std::string>> all = member.Exchange(round + std::to_string(rank));
      ASSERT_TRUE(all.ok());
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(all.value()[i], round + std::to_string(i));
    }
    EXPECT_EQ(member.Leave(), std::nullopt);
  });
}

TEST(Rendezvous, ASchedulerNumbersRanksByHostAndNumberThere) {
  Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"127.0.0.1", 0}, {3, 20, true, {}, ""});
  ASSERT_TRUE(meeting.ok());
  const Address address = meeting.value()->address();
  std::future<MeetingEnd> end = std::async(std::launch::async, [&] { return meeting.value()->Run(); });
  InThreads({2, 0, 1}, [&](int local_rank) {
    Joined joined = Membership::Join(ByScheduler(local_rank, address), {3, 20, ""});
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    EXPECT_EQ(joined.value()->rank(), local_rank);
    joined.value()->Watch([](const Error& error) { ADD_FAILURE() << error.message; }, [] { return ""; });
    EXPECT_EQ(joined.value()->Leave(), std::nullopt);
  });
  EXPECT_EQ(end.get().code, ExitCode::kDone);
}

TEST(Rendezvous, ARankThatNeverJoinsIsNamedOnce) {
  const Address meeting = FreeAddress();
  std::atomic<int> said = 0;
  InThreads({0, 2, 3}, [&](int rank) {
    Placement placement = PlacementOf(rank, meeting);
    placement.hosts = {"a", "b", "c", "d", "e"};
    const Joined joined = Membership::Join(placement, {5, 0.5, ""});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ExitCode::kFailed);
    if (joined.error().message.empty()) return;
    ++said;
    EXPECT_EQ(joined.error().message,
              "rank 1 on b, rank 4 on e did not join within 0.5 s, 3 of 5 did; the job is ended (CLEAVE_JOIN_TIMEOUT)");
  });
  EXPECT_EQ(said, 1);
}

TEST(Rendezvous, Rank0ThatNeverJoinsIsNamedOnce) {
  const Address meeting = FreeAddress();
  std::atomic<int> said = 0;
  InThreads({1, 2}, [&](int rank) {
    const Joined joined = Membership::Join(PlacementOf(rank, meeting), {3, 0.3, ""});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ExitCode::kFailed);
    if (joined.error().message.empty()) return;
    ++said;
    EXPECT_EQ(joined.error().message,
              "nobody listens at " + ToString(meeting) + ": rank 0 did not join within 0.3 s (CLEAVE_JOIN_TIMEOUT)");
  });
  EXPECT_EQ(said, 1);
}

TEST(Rendezvous, ASchedulerSaysHowManyAreMissing) {
  Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"127.0.0.1", 0}, {3, 0.5, true, {}, ""});
  ASSERT_TRUE(meeting.ok());
  const Address address = meeting.value()->address();
  std::future<MeetingEnd> end = std::async(std::launch::async, [&] { return meeting.value()->Run(); });
  InThreads({0, 1}, [&](int local_rank) {
    const Joined joined = Membership::Join(ByScheduler(local_rank, address), {3, 20, ""});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ExitCode::kFailed);
    EXPECT_EQ(joined.error().message, "");
  });
  const MeetingEnd ended = end.get();
  EXPECT_EQ(ended.code, ExitCode::kFailed);
  EXPECT_EQ(ended.message.rfind("1 rank did not join within 0.5 s, 2 of 3 did (from ", 0), 0u) << ended.message;
}

TEST(Rendezvous, ARankThatIsLostIsNamedByTheLowestThatIsLeft) {
  for (const int lost : {0, 1, 2}) {
    SCOPED_TRACE(lost);
    const Address meeting = FreeAddress();
    std::atomic<int> said = 0;
    InThreads({0, 1, 2}, [&](int rank) {
      std::promise<Error> ended;  // It must outlive the thread that uses it.
      Joined joined = Membership::Join(PlacementOf(rank, meeting), {3, 20, ""});
      ASSERT_TRUE(joined.ok()) << joined.error().message;
      joined.value()->Watch([&](const Error& error) { ended.set_value(error); }, [] { return ""; });
      if (rank == lost) return;
      const Error error = ended.get_future().get();
      EXPECT_EQ(error.code, ExitCode::kFailed);
      if (error.message.empty()) return;
      ++said;
      EXPECT_EQ(rank, lost == 0 ? 1 : 0);
      EXPECT_EQ(error.message.rfind("rank " + std::to_string(lost), 0), 0u) << error.message;
    });
    EXPECT_EQ(said, 1);
  }
}

// They know the secret, so they were meant to be of this job.
TEST(Rendezvous, RanksThatDoNotFitEndTheirJob) {
  const Address meeting = FreeAddress();
  std::atomic<int> said = 0;
  const auto expect = [&](const Joined& joined, const std::string& text) {
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ExitCode::kInput);
    if (joined.error().message.empty()) return;
    ++said;
    EXPECT_EQ(joined.error().message.rfind(text, 0), 0u) << joined.error().message;
  };
  InThreads({0, 1}, [&](int rank) {
    expect(Membership::Join(PlacementOf(rank, meeting), {rank + 2, 20, "s"}),
           "a program with a plan for 3 ranks joined from host ");
  });
  EXPECT_EQ(said, 1);
  InThreads({0, 1, 1}, [&](int rank) {
    expect(Membership::Join(PlacementOf(rank, meeting), {4, 20, "s"}), "rank 1 joined twice, from host ");
  });
  EXPECT_EQ(said, 2);
}

// Without a secret they may be of another job.
TEST(Rendezvous, ProgramsOfAnotherSizeEndTheJobOfASchedulerThatHasNoOthers) {
  Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"127.0.0.1", 0}, {3, 20, true, {}, ""});
  ASSERT_TRUE(meeting.ok());
  const Address address = meeting.value()->address();
  std::future<MeetingEnd> end = std::async(std::launch::async, [&] { return meeting.value()->Run(); });
  InThreads({0, 1, 2}, [&](int local_rank) {
    const Joined joined = Membership::Join(ByScheduler(local_rank, address), {4, 20, ""});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ExitCode::kInput);
  });
  EXPECT_EQ(end.get().code, ExitCode::kInput);
}

TEST(Rendezvous, WhoAsksIsToldWhereTheOthersAre) {
  const Address meeting = FreeAddress();
  InThreads({0, 1, 2}, [&](int rank) {
    Joined joined = Membership::Join(PlacementOf(rank, meeting), {3, 20, ""});
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    Membership& member = *joined.value();
    // Rank 2 has nothing to say, as a process that is stopped.
    member.Watch([](const Error& error) { ADD_FAILURE() << error.message; },
                 [rank] { return rank == 2 ? "" : "rank " + std::to_string(rank) + " is in h1\x1b"; });
    ASSERT_TRUE(member.Exchange("").ok());  // All watch.
    if (rank != 2) {
      EXPECT_EQ(member.AskWhere(), (std::vector<std::string>{"rank 0 is in h1\\x1b", "rank 1 is in h1\\x1b", ""}));
    }
    EXPECT_EQ(member.Leave(), std::nullopt);
  });
}

TEST(Rendezvous, WhereNobodyCanMeet) {
  const Address taken = FreeAddress();
  const Result<Socket> other = Listen(taken);
  ASSERT_TRUE(other.ok());
  const Joined in_use = Membership::Join(PlacementOf(0, taken), {2, 5, ""});
  ASSERT_FALSE(in_use.ok());
  EXPECT_EQ(in_use.error().code, ExitCode::kEnvironment);
  EXPECT_EQ(in_use.error().message,
            "cannot listen at " + ToString(taken) + ": port " + std::to_string(taken.port) + " is in use");
  const Joined elsewhere = Membership::Join(PlacementOf(0, {"192.0.2.1", 5}), {2, 5, ""});
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().message, "cannot listen at 192.0.2.1:5: `192.0.2.1` is no address of this host");
  const Joined unknown = Membership::Join(PlacementOf(0, {"no-such-host.invalid", 5}), {2, 5, ""});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ExitCode::kEnvironment);
  EXPECT_EQ(unknown.error().message.rfind(
                "the host `no-such-host.invalid`, at which the ranks are to meet, is not known: ", 0),
            0u)
      << unknown.error().message;
}

TEST(Rendezvous, WhatElseListensThereIsNotTakenForRank0) {
  Result<Socket> other = Listen({"127.0.0.1", 0});
  ASSERT_TRUE(other.ok());
  const Address address = LocalAddress(other.value());
  std::thread server([&] {
    Socket caller;
    while (!caller.is_open() && WaitToReceive(other.value(), Now() + 20)) caller = Accept(other.value());
    Send(caller, Offer{"220 mail.example"});
    Inbox inbox;
    while (inbox.state() == Inbox::State::kOpen && WaitToReceive(caller, Now() + 20)) inbox.Receive(caller);
  });
  const Joined joined = Membership::Join(PlacementOf(1, address), {2, 20, ""});
  server.join();
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().code, ExitCode::kEnvironment);
  EXPECT_EQ(joined.error().message, "what listens at " + ToString(address) +
                                        " is not rank 0 of this job: is the port in use by another program?");
}

TEST(Inbox, WhatIsNoMessageIsMalformed) {
  Result<Socket> listener = Listen({"127.0.0.1", 0});
  Result<Socket> here = Connect(LocalAddress(listener.value()), Now() + 20);
  ASSERT_TRUE(here.ok());
  ASSERT_TRUE(WaitToReceive(listener.value(), Now() + 20));
  const Socket there = Accept(listener.value());
  ASSERT_TRUE(Send(here.value(), Offers{{"", std::string(100000, 'x')}}));
  Inbox inbox;
  std::optional<Message> message;
  while (!(message = inbox.Next()).has_value()) {
    ASSERT_TRUE(WaitToReceive(there, Now() + 20));
    ASSERT_EQ(inbox.Receive(there), Inbox::State::kOpen);
  }
  EXPECT_EQ(std::get<Offers>(*message).texts[1].size(), 100000u);
  const std::string text = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(write(here.value().descriptor(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_TRUE(WaitToReceive(there, Now() + 20));
  ASSERT_EQ(inbox.Receive(there), Inbox::State::kOpen);
  EXPECT_FALSE(inbox.Next().has_value());
  EXPECT_EQ(inbox.state(), Inbox::State::kMalformed);
}

}  // namespace
}  // namespace cleave::runtime
