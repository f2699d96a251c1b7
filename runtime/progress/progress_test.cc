#include "runtime/progress/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace cleave::runtime {
namespace {

std::string LinesOf(ProgressOptions options, int64_t total, int64_t pieces) {
  testing::internal::CaptureStderr();
  Progress progress("reading", total, options);
  for (int64_t i = 0; i < pieces; ++i) progress.Add(1);
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, SaysHowMuchIsDone) {
  EXPECT_EQ(LinesOf({.seconds_between = 0}, 4, 4),
            "reading: 25 % after 0 s\nreading: 50 % after 0 s\nreading: 75 % after 0 s\n");
  EXPECT_EQ(LinesOf({.seconds_between = 0}, 0, 1), "") << "nothing is left";
}

TEST(Progress, IsSilentAboutWhatIsQuickOrNotShown) {
  EXPECT_EQ(LinesOf({}, 1000, 1000), "");
  EXPECT_EQ(LinesOf({.is_shown = false, .seconds_between = 0}, 4, 4), "");
}

TEST(Progress, LooksAtTheClockSeldom) {
  const std::string lines = LinesOf({.seconds_between = 0}, 1'000'000, 1'000'000);
  EXPECT_NEAR(static_cast<double>(std::count(lines.begin(), lines.end(), '\n')), 1000, 5);
}

TEST(Progress, ReachesAtLeast) {
  testing::internal::CaptureStderr();
  Progress progress("reading", 10, {.seconds_between = 0});
  progress.Add(6);
  progress.Reach(5);
  progress.Reach(8);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "reading: 60 % after 0 s\nreading: 80 % after 0 s\n");
}

}  // namespace
}  // namespace cleave::runtime
