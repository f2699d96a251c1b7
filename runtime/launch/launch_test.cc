#include "runtime/launch/launch.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cleave::runtime {
namespace {

TEST(FitTimeout, FollowsTheStepsUnlessTheUserHasSaidIt) {
  Watch watch("a.model");
  unsetenv("CLEAVE_TIMEOUT");
  FitTimeout(watch, 0.01);
  EXPECT_EQ(watch.timeout(), 60);
  FitTimeout(watch, 10);
  EXPECT_EQ(watch.timeout(), 200);
  setenv("CLEAVE_TIMEOUT", "7", 1);
  FitTimeout(watch, 100);
  EXPECT_EQ(watch.timeout(), 200);
}

}  // namespace
}  // namespace cleave::runtime
