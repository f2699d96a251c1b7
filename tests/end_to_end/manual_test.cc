// Tests that models with their own communication train like the same models for one device.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kSteps = 12;

class Manual : public testing::Test {
 protected:
  void SetUp() override { folder_ = FreshFolder("manual"); }

  // The losses of `model` on `ranks` ranks; the program's output is kept in `said_`.
  std::vector<double> Train(const std::string& model, int ranks, std::vector<std::string> arguments = {}) {
    // What is computed of test data is not compared.
    arguments.insert(arguments.begin(), {"--devices", absl::StrCat(ranks), "--set", "data=digits(test = 96)"});
    const TrainedModel trained = TrainModel(DataPath(model), arguments, folder_, kSteps);
    EXPECT_EQ(trained.diagnostics, "");
    said_ = trained.said;
    return trained.losses;
  }

  std::vector<double> OneDevice(const std::string& model) {
    std::vector<double> one = Train(model, 1);
    EXPECT_EQ(one.size(), kSteps);
    EXPECT_TRUE(!one.empty() && one.back() < one.front()) << "the model does not learn";
    return one;
  }

  void ExpectSame(const std::vector<double>& one, const std::string& model, int ranks,
                  const std::vector<std::string>& settings = {}) {
    const std::vector<double> losses = Train(model, ranks, settings);
    EXPECT_LE(LargestRelativeDifference(losses, one), kTolerance) << model << " on " << ranks << " ranks";
  }

  std::string folder_;
  std::string said_;
};

TEST_F(Manual, Mlp) {
  const std::vector<double> one = OneDevice("tests/end_to_end/plain_mlp.model");
  for (const int ranks : {1, 8}) ExpectSame(one, "examples/manual_mlp/manual_mlp.model", ranks);
  EXPECT_TRUE(absl::StrContains(said_, "epoch: 1 step: 12, loss is ")) << said_;
}

TEST_F(Manual, Halo) {
  const std::vector<double> one = OneDevice("tests/end_to_end/plain_halo.model");
  for (const int ranks : {2, 8}) ExpectSame(one, "examples/manual_halo/manual_halo.model", ranks);
}

TEST_F(Manual, Transpose) {
  const std::vector<double> one = OneDevice("tests/end_to_end/plain_transpose.model");
  for (const int ranks : {2, 8}) ExpectSame(one, "examples/manual_transpose/manual_transpose.model", ranks);
}

TEST_F(Manual, Messages) {
  const std::vector<double> one = OneDevice("tests/end_to_end/plain_messages.model");
  for (const int ranks : {2, 8}) ExpectSame(one, "tests/end_to_end/manual_messages.model", ranks);
}

TEST_F(Manual, Groups) {
  const std::vector<double> one = OneDevice("tests/end_to_end/plain_groups.model");
  const std::string model = "tests/end_to_end/manual_groups.model";
  ExpectSame(one, model, 4);
  for (const auto& [ranks, mesh] : std::vector<std::pair<int, std::string>>{
           {1, "(dp = 1, tp = 1)"}, {2, "(dp = 1, tp = 2)"}, {8, "(dp = 2, tp = 4)"}}) {
    ExpectSame(one, model, ranks, {"--set", absl::StrCat("mesh=", mesh)});
  }
}

}  // namespace
}  // namespace cleave::tests
