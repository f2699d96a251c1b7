// Functions with several results give the numbers of functions with one, on any number of ranks.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kSteps = 12;

class SeveralResults : public testing::Test {
 protected:
  void SetUp() override { folder_ = FreshFolder("several_results"); }

  std::vector<double> Train(const std::string& model, int ranks) {
    const TrainedModel trained = TrainModel(DataPath(model), {"--devices", std::to_string(ranks)}, folder_, kSteps);
    EXPECT_EQ(trained.diagnostics, "");
    return trained.losses;
  }

  std::string folder_;
};

TEST_F(SeveralResults, HaveThePlanOfTheirRegion) {
  const CommandResult planned =
      Compile({DataPath("tests/end_to_end/several_results.model"), "--plan-only", "--explain"}, folder_);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(planned.err, "");
  for (const char* text : {"4 ranks", "low_high.h.matmul", "inside region `low_high`", "low.out_0", "high.out_1"}) {
    EXPECT_NE(planned.out.find(text), std::string::npos) << text << "\n" << planned.out;
  }
}

TEST_F(SeveralResults, TrainAsFunctionsWithOneResult) {
  const std::vector<double> one = Train("tests/end_to_end/one_result.model", 1);
  ASSERT_EQ(one.size(), kSteps);
  EXPECT_LT(one.back(), one.front());
  for (const int ranks : {2, 4, 8}) {
    EXPECT_LE(LargestRelativeDifference(Train("tests/end_to_end/several_results.model", ranks), one), kTolerance)
        << ranks << " ranks";
  }
}

}  // namespace
}  // namespace cleave::tests
