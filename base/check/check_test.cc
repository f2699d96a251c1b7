#include "base/check/check.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(CheckTest, TrueConditionDoesNotEvaluateItsMessage) {
  int evaluated = 0;
  CLEAVE_CHECK(true) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckTest, FalseConditionExitsWithCode70AndSaysWhere) {
  const int axis = 3;
  EXPECT_EXIT(CLEAVE_CHECK(axis < 3) << "axis " << axis, testing::ExitedWithCode(70),
              "internal error: axis < 3 at .*check_test.cc:[0-9]+: axis 3");
}

}  // namespace
}  // namespace cleave
