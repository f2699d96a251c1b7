#include "runtime/error/error.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  const Result<int> bad = Error{ExitCode::kInput, "no"};
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "no");
}

TEST(Format, HasNoLimit) {
  EXPECT_EQ(Format("%d of %s", 3, "four"), "3 of four");
  EXPECT_EQ(Format("%s", std::string(5000, 'x').c_str()), std::string(5000, 'x'));
}

TEST(Die, SaysWhyAndEndsWithItsCode) {
  EXPECT_EXIT(Die(ExitCode::kInput, "`x` is missing"), testing::ExitedWithCode(3), "error: `x` is missing");
}

}  // namespace
}  // namespace cleave::runtime
