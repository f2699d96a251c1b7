// A function mapped over the weights of experts gives the numbers of one call for each expert, on any number of ranks.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kSteps = 12;

class Vmap : public testing::Test {
 protected:
  void SetUp() override { folder_ = FreshFolder("vmap"); }

  std::vector<double> Train(const std::string& model, int ranks) {
    // What is computed of test data is not compared.
    const std::vector<std::string> arguments = {"--devices", std::to_string(ranks), "--set", "data=digits(test = 100)"};
    const TrainedModel trained = TrainModel(DataPath(model), arguments, folder_, kSteps);
    EXPECT_EQ(trained.diagnostics, "");
    return trained.losses;
  }

  std::string folder_;
};

TEST_F(Vmap, IsACallForEachElementOnAnyNumberOfRanks) {
  const std::vector<double> by_hand = Train("tests/end_to_end/vmap_by_hand.model", 1);
  ASSERT_EQ(by_hand.size(), kSteps);
  EXPECT_LT(by_hand.back(), by_hand.front());
  for (const int ranks : {1, 2, 4, 8}) {
    EXPECT_LE(LargestRelativeDifference(Train("examples/vmap/vmap.model", ranks), by_hand), kTolerance)
        << ranks << " ranks";
  }
}

}  // namespace
}  // namespace cleave::tests
