#include "runtime/error/error.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/error/warning.h"

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

TEST(FallBack, IsCountedAlwaysAndSaidOnceForEachKind) {
  testing::internal::CaptureStderr();
  std::thread rank([] {
    for (const char* const kind : {"products", "products", "attention", "products"}) {
      FallBack(kind, [&] { return std::string("a library does not compute ") + kind; });
    }
    EXPECT_EQ(Fallbacks(), (std::map<std::string, int64_t>{{"attention", 1}, {"products", 3}}));
  });
  rank.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: a library does not compute products; kernels of this program do, which take longer\n"
            "warning: a library does not compute attention; kernels of this program do, which take longer\n");
  EXPECT_TRUE(Fallbacks().empty()) << "another thread is another rank";
}

}  // namespace
}  // namespace cleave::runtime
