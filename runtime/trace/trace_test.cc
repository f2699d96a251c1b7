#include "runtime/trace/trace.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>

#include "runtime/device/bfloat16.h"

std::atomic<bool> allocates = true;

void* operator new(size_t bytes) {
  while (!allocates) pause();
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cleave::runtime {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Watch, NamesTheCurrentOp) {
  Watch watch("a.model");
  EXPECT_EQ(watch.CurrentOp(), "no op");
  watch.Start("h1.matmul", 7);
  EXPECT_EQ(watch.CurrentOp(), "`h1.matmul` (a.model:7)");
  watch.Start("gradients", 0);
  EXPECT_EQ(watch.CurrentOp(), "`gradients` (a.model)");
  watch.Finish();
  EXPECT_EQ(watch.CurrentOp(), "no op");
}

TEST(Watch, CheckingFindsTheFirstValueThatIsNotFinite) {
  Watch watch("a.model");
  float first[3] = {};
  float second[3] = {};
  watch.BeginChecking();
  watch.Start("first", 1, first, 3);
  first[0] = 1e38f;  // Computed after Start, as an op does.
  watch.Start("second", 2, second, 3);
  second[1] = -kInfinity;
  second[2] = kNan;
  watch.Start("third", 3, second, 3);
  const std::optional<Watch::NotFinite> found = watch.EndChecking();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->op, "second");
  EXPECT_EQ(found->line, 2);
  EXPECT_EQ(found->index, 1);
  EXPECT_EQ(found->value, -kInfinity);
  EXPECT_EQ(found->order, 2);
}

TEST(Watch, CheckingTheLastOpAndFiniteValues) {
  Watch watch("a.model");
  float values[2] = {0, std::numeric_limits<float>::max()};
  watch.BeginChecking();
  watch.Start("only", 1, values, 2);
  EXPECT_FALSE(watch.EndChecking().has_value());
  watch.BeginChecking();
  watch.Start("only", 1, values, 2);
  values[0] = kNan;
  EXPECT_TRUE(watch.EndChecking().has_value());
}

TEST(Watch, CheckingReadsBFloat16) {
  Watch watch("a.model");
  BFloat16 values[3] = {BFloat16(1.0f), BFloat16(3e38f), BFloat16(kNan)};
  watch.BeginChecking();
  watch.Start("halves", 4, values, 2);
  EXPECT_FALSE(watch.EndChecking().has_value());
  watch.BeginChecking();
  watch.Start("halves", 4, values, 3);
  const std::optional<Watch::NotFinite> found = watch.EndChecking();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->index, 2);
  EXPECT_TRUE(std::isnan(found->value));
}

TEST(Watch, CheckingReadsByTheReader) {
  static const float* asked = nullptr;
  static const float answer[2] = {0, kInfinity};
  Watch watch("a.model");
  const float values[2] = {};
  watch.BeginChecking([](const void* place, int64_t bytes) -> const void* {
    EXPECT_EQ(bytes, 8);
    asked = static_cast<const float*>(place);
    return answer;
  });
  watch.Start("on_device", 5, values, 2);
  const std::optional<Watch::NotFinite> found = watch.EndChecking();
  EXPECT_EQ(asked, values);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->index, 1);
}

TEST(Watch, OutsideCheckingNothingIsScanned) {
  Watch watch("a.model");
  const float* const nowhere = reinterpret_cast<const float*>(8);
  watch.Start("op", 1, nowhere, 1000);
  watch.Finish();
  EXPECT_EQ(watch.CurrentOp(), "no op");
}

TEST(WatchdogDeathTest, ARankThatStandsStillEndsTheJob) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto stand_still = [] {
    Watch watch("a.model");
    watch.StartWatchdog(3, 0.2);
    watch.Start("h1.relu", 9);
    pause();
  };
  EXPECT_EXIT(stand_still(), testing::ExitedWithCode(6), "rank 3 stands still in `h1.relu` \\(a.model:9\\)");
  const auto wait = [] {
    Watch watch("a.model");
    watch.StartWatchdog(3, 0.2);
    watch.Start("h1.relu", 9);
    watch.EnterCollective("all_reduce");
    pause();
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(6), "rank 3 waits in all_reduce for `h1.relu` \\(a.model:9\\)");
}

TEST(FindMissing, NamesThoseThatDoNotWait) {
  const SeenRank waits0 = {0, true, "waits in all_reduce for `loss` (a.model:9)"};
  const SeenRank waits2 = {2, true, "waits in all_reduce for `loss` (a.model:9)"};
  const SeenRank computes = {1, true, "is in `h1` (a.model:7)"};
  const SeenRank silent = {1, false, ""};
  const SeenRank stopped = {1, false, "waits in all_gather for `h1` (a.model:7)"};
  EXPECT_EQ(FindMissing({waits0, computes, waits2}, 0).text, "; rank 1 is missing: it is in `h1` (a.model:7)");
  EXPECT_EQ(FindMissing({waits0, silent, waits2}, 0).text, "; rank 1 is missing: it does not answer");
  EXPECT_EQ(FindMissing({waits0, stopped, waits2}, 0).text,
            "; rank 1 is missing: it does not answer, and was last seen in all_gather for `h1` (a.model:7)");
  EXPECT_EQ(FindMissing({waits0, waits2}, 0).text, "; rank 2 waits in all_reduce for `loss` (a.model:9)");
  // The lowest rank that waits reports.
  EXPECT_FALSE(FindMissing({waits0, silent, waits2}, 0).is_for_another);
  EXPECT_TRUE(FindMissing({waits0, silent, waits2}, 2).is_for_another);
  EXPECT_FALSE(FindMissing({{0, false, ""}, computes, waits2}, 2).is_for_another);
}

// Has seen that rank 1 does not answer.
class Seer : public Others {
 public:
  void Show(const std::string&) override {}
  MissingRanks Missing() override { return {"; rank 1 is missing: it does not answer"}; }
};

TEST(WatchdogDeathTest, ARankThatWaitsAsksForWhom) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto wait = [] {
    Watch watch("a.model");
    Seer seer;
    watch.SetOthers(&seer);
    watch.StartWatchdog(3, 1000);
    watch.SetTimeout(0.2);
    watch.Start("h1.relu", 9);
    watch.EnterCollective("all_reduce");
    pause();
  };
  EXPECT_EXIT(
      wait(), testing::ExitedWithCode(6),
      "rank 3 waits in all_reduce for `h1.relu` \\(a.model:9\\) since . s; rank 1 is missing: it does not answer");
}

TEST(Watch, NamesTheCollectiveThatTheGpuIsIn) {
  Watch watch("a.model");
  EXPECT_FALSE(watch.CurrentCollective().has_value());
  watch.Start("h1.grad", 7);
  const int32_t number = watch.NumberOfCollective("all_reduce");
  EXPECT_EQ(watch.NumberOfCollective("all_reduce"), number);
  EXPECT_NE(watch.NumberOfCollective("all_gather"), number);
  watch.Start("h2.grad", 8);
  EXPECT_NE(watch.NumberOfCollective("all_reduce"), number);
  watch.Finish();
  Watch::DeviceProgress progress;
  watch.ObserveDevice(&progress);
  EXPECT_FALSE(watch.CurrentCollective().has_value());
  progress.word = Watch::DeviceProgress::WordOf(number, 1);
  EXPECT_EQ(watch.CurrentCollective(), "all_reduce for `h1.grad` (a.model:7) on its GPU");
  // The place where the host is says more than that of the GPU.
  watch.EnterCollective("barrier");
  EXPECT_EQ(watch.CurrentCollective(), "barrier for no op");
  watch.LeaveCollective();
  watch.ObserveDevice(nullptr);
  EXPECT_FALSE(watch.CurrentCollective().has_value());
}

TEST(Watch, NamesWhatAnotherThreadCommunicatesWhileTheRankWaitsForIt) {
  Watch watch("a.model");
  watch.Start("h1.grad", 7);
  const int32_t number = watch.NumberOfCollective("all_reduce");
  EXPECT_EQ(watch.OpOfCollective(number), "`h1.grad` (a.model:7)");
  watch.Start("h2.grad", 8);
  watch.EnterBeside(number);
  EXPECT_EQ(watch.Where(), "is in `h2.grad` (a.model:8)");
  watch.BeginAwait();
  EXPECT_EQ(watch.Where(), "waits in all_reduce for `h1.grad` (a.model:7)");
  watch.LeaveBeside();
  EXPECT_EQ(watch.Where(), "is in `h2.grad` (a.model:8)");
  watch.EnterBeside(number);
  watch.EndAwait();
  EXPECT_EQ(watch.Where(), "is in `h2.grad` (a.model:8)");
}

TEST(WatchdogDeathTest, AGpuThatStandsStillInACollective) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto wait = [] {
    Watch watch("a.model");
    watch.Start("h1.grad", 7);
    const Watch::DeviceProgress progress = {Watch::DeviceProgress::WordOf(watch.NumberOfCollective("all_reduce"), 1)};
    watch.Finish();
    watch.ObserveDevice(&progress);
    watch.StartWatchdog(3, 0.2);
    pause();
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(6),
              "rank 3 waits in all_reduce for `h1.grad` \\(a.model:7\\) on its GPU since");
}

TEST(WatchdogDeathTest, NamesTheOtherRanksOfTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto stand_still = [] {
    Watch waiting("a.model");
    HandleSignals(waiting, 1);
    waiting.Start("h2", 8);
    waiting.EnterCollective("broadcast");
    Watch computing("a.model");
    HandleSignals(computing, 2);
    computing.Start("h3", 9);
    Watch watch("a.model");
    HandleSignals(watch, 0);
    watch.StartWatchdog(0, 0.2);
    watch.Start("h1", 7);
    pause();
  };
  EXPECT_EXIT(stand_still(), testing::ExitedWithCode(6),
              "rank 0 stands still in `h1` \\(a.model:7\\) since 0 s; rank 1 waits in broadcast for `h2` "
              "\\(a.model:8\\); rank 2 is in `h3` \\(a.model:9\\); the job is ended");
}

TEST(SignalsDeathTest, ACrashOutsideOfARanksThreadNamesAllRanksOfTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto crash = [] {
    Watch first("a.model");
    Watch second("a.model");
    HandleSignals(first, 0);
    HandleSignals(second, 1);
    first.Start("h1", 7);
    std::thread([] { raise(SIGFPE); }).join();
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGFPE),
              "error: .*; rank 0 is in `h1` \\(a.model:7\\); rank 1 is in no op");
}

// As where a rank crashes inside of its allocator, whose lock it holds.
TEST(SignalsDeathTest, ACrashInTheAllocatorIsNoHang) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto crash = [](bool saves) {
    static Watch watch("a.model");
    HandleSignals(watch, 2);
    if (saves) DeferSigterm(100);
    allocates = false;
    raise(SIGSEGV);
  };
  for (const bool saves : {false, true}) {
    EXPECT_EXIT(crash(saves), testing::ExitedWithCode(128 + SIGSEGV), "error: a rank crashed while it held") << saves;
  }
}

TEST(SignalsDeathTest, StopAndCrash) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto receive = [](int signal) {
    static Watch watch("a.model");
    HandleSignals(watch, 2);
    watch.Start("h1.relu", 9);
    raise(signal);
  };
  EXPECT_EXIT(receive(SIGTERM), testing::ExitedWithCode(128 + SIGTERM), "");
  EXPECT_EXIT(receive(SIGINT), testing::ExitedWithCode(128 + SIGINT), "");
  EXPECT_EXIT(receive(SIGFPE), testing::KilledBySignal(SIGFPE), "rank 2: .* in `h1.relu` \\(a.model:9\\)");
}

// A job that is stopped gets a signal for each of its processes, and one more from the process that started them.
TEST(SignalsDeathTest, OneCauseOfSeveralSignalsIsNoSecondOne) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto stop = [](int signals, double pause, bool from_starter) {
    static Watch watch("a.model");
    HandleSignals(watch, 0);
    setenv(kStarterVariable, from_starter ? std::to_string(getpid()).c_str() : "1", 1);
    DeferSigterm(/*grace=*/30);
    for (int i = 0; i < signals; ++i) {
      if (i > 0) usleep(static_cast<useconds_t>(pause * 1e6));
      raise(SIGTERM);
    }
    _exit(WasAskedToStop() ? 0 : 1);
  };
  EXPECT_EXIT(stop(1, 0, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(stop(3, 0.01, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(stop(2, 1.1 * kSecondsOfOneCause, false), testing::ExitedWithCode(128 + SIGTERM), "");
  EXPECT_EXIT(stop(2, 1.1 * kSecondsOfOneCause, true), testing::ExitedWithCode(128 + SIGTERM), "") << "twice from it";
}

TEST(OpNameTest, LayersShareAText) {
  EXPECT_EQ(OpName("h1.matmul").ToString(), "h1.matmul");
  EXPECT_EQ(OpName("a#b").ToString(), "a#b") << "no layer";
  EXPECT_EQ(OpName("x.#.norm1", 12).ToString(), "x.12.norm1");
  Watch watch("a.model");
  watch.Start({"x.#.norm1", 3}, 7);
  EXPECT_EQ(watch.CurrentOp(), "`x.3.norm1` (a.model:7)");
  EXPECT_FALSE(OpName("x.#.norm1", 3) == OpName("x.#.norm1", 4));
}

}  // namespace
}  // namespace cleave::runtime
