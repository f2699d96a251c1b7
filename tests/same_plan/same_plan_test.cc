// Tests that a search gives the same bytes in every process: hash tables have a different seed in each one, and the
// number of threads varies, but neither changes a plan.
#include <string>

#include "gtest/gtest.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

class SamePlanTest : public testing::TestWithParam<const char*> {};

TEST_P(SamePlanTest, InEveryProcess) {
  std::string first;
  for (const char* threads : {"1", "5"}) {
    const CommandResult run = RunCommand({DataPath("tests/same_plan/print_plan"), GetParam()}, "",
                                         {std::string("OMP_NUM_THREADS=") + threads});
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
    ASSERT_NE(run.out.find("cost"), std::string::npos);
    if (first.empty()) first = run.out;
    EXPECT_EQ(run.out, first) << "with " << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Searches, SamePlanTest, testing::Values("sapp", "data_parallel"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace cleave::tests
