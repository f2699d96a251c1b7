// Compares training in bf16 with training in f32, and with itself on other numbers of ranks.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kRounding = 1.0 / 256;  // The rounding error of bf16: half a unit of its 8 significant bits.

class Precision : public testing::Test {
 protected:
  void SetUp() override { folder_ = FreshFolder("precision"); }

  TrainedModel Train(const std::string& model, const std::string& precision, int ranks, size_t steps) {
    const TrainedModel trained = TrainModel(
        DataPath(model),
        {"--devices", std::to_string(ranks), "--set", "data=digits()", "--set", absl::StrCat("precision=", precision)},
        folder_, steps);
    EXPECT_EQ(trained.diagnostics, "");
    EXPECT_EQ(trained.losses.size(), steps);
    return trained;
  }

  std::string folder_;
};

// The number behind the last "test accuracy".
double TestAccuracy(const std::string& said) {
  const std::string before = "test accuracy ";
  const size_t at = said.rfind(before);
  double accuracy = -1;
  if (at != std::string::npos) {
    const std::string rest = said.substr(at + before.size());
    EXPECT_TRUE(absl::SimpleAtod(rest.substr(0, rest.find_first_of(" \n")), &accuracy)) << said;
  }
  return accuracy;
}

std::vector<double> First(const std::vector<double>& losses, size_t count) {
  return {losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(std::min(count, losses.size()))};
}

TEST_F(Precision, AnMlpLearnsAsWellInBf16) {
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  constexpr size_t kEpoch = 78;  // Steps.
  const TrainedModel in_f32 = Train(model, "f32", 1, kEpoch);
  const TrainedModel in_bf16 = Train(model, "bf16", 1, kEpoch);
  const TrainedModel on_four = Train(model, "bf16", 4, kEpoch);
  EXPECT_NE(in_bf16.losses, in_f32.losses) << "bf16 rounds";
  for (const TrainedModel* trained : {&in_bf16, &on_four}) {
    EXPECT_LE(LargestRelativeDifference(First(trained->losses, 10), First(in_f32.losses, 10)), 4 * kRounding);
    EXPECT_NEAR(TestAccuracy(trained->said), TestAccuracy(in_f32.said), 0.01);
  }
  EXPECT_LE(LargestRelativeDifference(First(on_four.losses, 10), First(in_bf16.losses, 10)), 4 * kRounding);
}

TEST_F(Precision, ConvolutionsLearnInBf16) {
  const std::string model = "examples/mnist_cnn/mnist_cnn.model";
  constexpr size_t kSteps = 20;
  const TrainedModel in_f32 = Train(model, "f32", 1, kSteps);
  const TrainedModel in_bf16 = Train(model, "bf16", 2, kSteps);
  // Its loss rises at first, and differences grow.
  EXPECT_LE(LargestRelativeDifference(First(in_bf16.losses, 3), First(in_f32.losses, 3)), 4 * kRounding);
  EXPECT_NEAR(in_bf16.losses.back(), in_f32.losses.back(), 0.05 * in_f32.losses.back());
}

}  // namespace
}  // namespace cleave::tests
