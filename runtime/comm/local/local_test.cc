// What is special about ranks that are threads: sums in the order of members, exit codes, and the message when one dies
// or stands still.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

const Mesh kThree = {{"m0", 3}};

// Runs the body on three ranks that have joined, and returns the exit code.
template <typename Body>
int OnThree(const Body& body) {
  return RunRanks(kThree, [&] {
    Watch watch("local.model");
    Result<std::unique_ptr<Comm>> comm = Comm::Start(kThree, watch);
    if (!comm.ok()) return static_cast<int>(comm.error().code);
    HandleSignals(watch, comm.value()->rank());
    return body(*comm.value(), watch);
  });
}

TEST(RunRanks, GivesTheCodeOfTheLowestRankThatHasOne) {
  std::atomic<int> ranks{0};
  EXPECT_EQ(OnThree([&](Comm& comm, Watch&) {
              ranks += 1 << comm.rank();
              return comm.rank() == 0 ? 0 : 5 + comm.rank();
            }),
            6);
  EXPECT_EQ(ranks, 7);
  EXPECT_EQ(OnThree([](Comm&, Watch&) { return 0; }), 0);
}

TEST(RunRanks, ARankKnowsItsNumberBeforeItJoins) {
  EXPECT_FALSE(RankFromEnvironment().has_value());
  std::atomic<int> sum{0};
  RunRanks(kThree, [&] {
    sum += RankFromEnvironment().value() + 1;
    return 0;
  });
  EXPECT_EQ(sum, 6);
}

TEST(Start, RefusesAMeshThatNoThreadsWereStartedFor) {
  Watch watch("local.model");
  const Result<std::unique_ptr<Comm>> comm = Comm::Start(kThree, watch);
  ASSERT_FALSE(comm.ok());
  EXPECT_EQ(comm.error().message, "the plan has 3 ranks (m0=3) and 1 thread was started");
}

TEST(AllReduce, AddsInTheOrderOfMembers) {
  // In any other order the small numbers are lost, or the large ones do not cancel in time.
  const float values[] = {1e8f, -1e8f, 1.0f};
  OnThree([&](Comm& comm, Watch&) {
    std::vector<float> data(10, values[comm.rank()]);
    comm.AllReduce(data.data(), 10, Reduction::kSum, comm.world());
    EXPECT_EQ(data, std::vector<float>(10, 1.0f));
    return 0;
  });
}

TEST(AllReduce, RoundsSumsOfBFloat16Once) {
  OnThree([&](Comm& comm, Watch&) {
    // bf16 cannot hold 256 + 1, but it can hold 256 + 1 + 1.
    BFloat16 value(comm.rank() == 0 ? 256.0f : 1.0f);
    comm.AllReduce(&value, 1, Reduction::kSum, comm.world());
    EXPECT_EQ(static_cast<float>(value), 258.0f);
    return 0;
  });
}

TEST(Overlap, RunsBesideTheRankWhereItHasAThread) {
  // The others take part only when rank 0 has gone on.
  std::atomic<bool> has_gone_on{false};
  OnThree([&](Comm& comm, Watch&) {
    if (comm.rank() == 0) comm.CommunicateOnThread();
    while (comm.rank() != 0 && !has_gone_on) std::this_thread::yield();
    float sum = 1;
    Pending pending = comm.Overlap([&] { comm.AllReduce(&sum, 1, Reduction::kSum, comm.world()); });
    if (comm.rank() == 0) has_gone_on = true;
    comm.Finish(pending);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(comm.traffic()[static_cast<size_t>(CollectiveKind::kAllReduce)].count, 1);
    return 0;
  });
}

TEST(RanksDeathTest, ARankThatDiesEndsAllAndSpeaksForItself) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto die = [] {
    OnThree([](Comm& comm, Watch&) {
      if (comm.rank() == 1) Die(ExitCode::kFailed, "rank 1 has had enough");
      comm.Barrier(comm.world());
      return 0;
    });
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(6), "^error: rank 1 has had enough\n$");
}

TEST(RanksDeathTest, ACrashNamesTheRankWhoseThreadItWas) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto crash = [] {
    OnThree([](Comm& comm, Watch& watch) {
      watch.Start("h1.relu", 7 + comm.rank());
      if (comm.rank() == 1) raise(SIGSEGV);
      comm.Barrier(comm.world());
      return 0;
    });
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGSEGV),
              "^error: rank 1: Segmentation fault in `h1.relu` \\(local.model:8\\)\n$");
}

TEST(RanksDeathTest, ARankThatStandsStillIsNamedAndSoIsWhatTheOthersWaitIn) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto stall = [] {
    OnThree([](Comm& comm, Watch& watch) {
      watch.StartWatchdog(comm.rank(), 0.5);
      watch.Start("h1.relu", 7);
      if (comm.rank() == 1) pause();
      comm.Barrier(comm.world());
      return 0;
    });
  };
  EXPECT_EXIT(
      stall(), testing::ExitedWithCode(6),
      "^error: rank 1 stands still in `h1.relu` \\(local.model:7\\) since [0-9]+ s; rank [02] waits in barrier "
      "for `h1.relu` \\(local.model:7\\); rank [02] waits in barrier for `h1.relu` \\(local.model:7\\); the job "
      "is ended \\(CLEAVE_TIMEOUT is 0.5 s\\)\n$");
}

TEST(RanksDeathTest, WhatARankHasBegunAndWaitsForIsNamed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto stall = [] {
    OnThree([](Comm& comm, Watch& watch) {
      watch.StartWatchdog(comm.rank(), 0.5);
      watch.Start("h1.relu", 7);
      if (comm.rank() == 1) pause();
      comm.CommunicateOnThread();
      float sum = 1;
      Pending pending = comm.Overlap([&] {
        watch.Start("gradients", 8);
        comm.AllReduce(&sum, 1, Reduction::kSum, comm.world());
      });
      watch.Start("h2.relu", 9);
      comm.Finish(pending);
      return 0;
    });
  };
  EXPECT_EXIT(
      stall(), testing::ExitedWithCode(6),
      "^error: rank 1 stands still in `h1.relu` \\(local.model:7\\) since [0-9]+ s; rank [02] waits in all_reduce "
      "for `gradients` \\(local.model:8\\); rank [02] waits in all_reduce for `gradients` \\(local.model:8\\); the "
      "job is ended \\(CLEAVE_TIMEOUT is 0.5 s\\)\n$");
}

}  // namespace
}  // namespace cleave::runtime
