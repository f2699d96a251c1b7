#include "runtime/trace/trace.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <limits>

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

}  // namespace
}  // namespace cleave::runtime
