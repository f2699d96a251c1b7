// Compares training in bf16, f16 and fp8 with training in f32, and with itself on other numbers of ranks.
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

  TrainedModel Train(const std::string& model, const std::string& precision, int ranks, size_t steps,
                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--devices", std::to_string(ranks),
                                          "--set",     absl::StrCat("data=digits(test = ", test_samples_, ")"),
                                          "--set",     absl::StrCat("precision=", precision)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const TrainedModel trained = TrainModel(DataPath(model), arguments, folder_, steps);
    EXPECT_EQ(trained.diagnostics, "");
    EXPECT_EQ(trained.losses.size(), steps);
    return trained;
  }

  std::string folder_;
  int test_samples_ = 4000;
};

// The numbers behind `before`, in order.
std::vector<double> NumbersBehind(const std::string& before, const std::string& said) {
  std::vector<double> numbers;
  for (size_t at = said.find(before); at != std::string::npos; at = said.find(before, at + 1)) {
    const std::string rest = said.substr(at + before.size());
    numbers.emplace_back();
    EXPECT_TRUE(absl::SimpleAtod(rest.substr(0, rest.find_first_of(" \n")), &numbers.back())) << said;
  }
  return numbers;
}

// The number behind the last "test accuracy".
double TestAccuracy(const std::string& said) {
  const std::vector<double> numbers = NumbersBehind("test accuracy ", said);
  return numbers.empty() ? -1 : numbers.back();
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

// Its second product is in fp8. The largest magnitudes are those of a micro-batch on all ranks.
TEST_F(Precision, AnMlpLearnsInFp8OnAnyNumberOfRanks) {
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  constexpr size_t kSteps = 20;
  test_samples_ = 100;  // No accuracy is looked at.
  const TrainedModel in_f32 = Train(model, "f32", 1, kSteps);
  const TrainedModel on_one = Train(model, "fp8", 1, kSteps, {"--set", "micro_batches=2"});
  const TrainedModel on_three = Train(model, "fp8", 3, kSteps, {"--set", "zero=2", "--set", "micro_batches=2"});
  EXPECT_LE(LargestRelativeDifference(on_three.losses, on_one.losses), 4 * kRounding);
  EXPECT_LE(LargestRelativeDifference(on_one.losses, in_f32.losses), 0.05);
  EXPECT_GT(LargestRelativeDifference(on_one.losses, in_f32.losses), 1e-4) << "fp8 rounds";
}

TEST_F(Precision, ConvolutionsLearnInBf16) {
  const std::string model = "examples/mnist_cnn/mnist_cnn.model";
  constexpr size_t kSteps = 12;
  test_samples_ = 100;  // No accuracy is looked at.
  const TrainedModel in_f32 = Train(model, "f32", 1, kSteps);
  const TrainedModel in_bf16 = Train(model, "bf16", 2, kSteps);
  // Its loss rises at first, and differences grow.
  EXPECT_LE(LargestRelativeDifference(First(in_bf16.losses, 3), First(in_f32.losses, 3)), 4 * kRounding);
  EXPECT_NEAR(in_bf16.losses.back(), in_f32.losses.back(), 0.05 * in_f32.losses.back());
}

// With the first scale gradients are infinite. Ranks that hold different gradients skip the same steps.
TEST_F(Precision, StepsAreSkippedInF16UntilTheScaleFits) {
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  constexpr size_t kSteps = 12;
  constexpr double kRoundingOfF16 = 1.0 / 2048;
  test_samples_ = 100;  // No accuracy is looked at.
  std::vector<std::string> arguments = {"--set", "log_every=1", "--set", "loss_scale=dynamic(initial=1073741824.0)"};
  const TrainedModel on_one = Train(model, "f16", 1, kSteps, arguments);
  arguments.insert(arguments.end(), {"--set", "zero=3", "--set", "micro_batches=2"});
  const TrainedModel on_four = Train(model, "f16", 4, kSteps, arguments);
  const std::vector<double> scales = NumbersBehind("loss_scale ", on_one.said);
  ASSERT_EQ(scales.size(), kSteps);
  EXPECT_EQ(scales, NumbersBehind("loss_scale ", on_four.said));
  EXPECT_EQ(scales[0], 1 << 30);
  EXPECT_EQ(scales[1], 1 << 29);
  EXPECT_EQ(scales[kSteps - 1], scales[kSteps - 2]) << "the last steps are not skipped";
  EXPECT_LE(LargestRelativeDifference(on_four.losses, on_one.losses), 4 * kRoundingOfF16);
  EXPECT_LT(on_one.losses.back(), 0.8 * on_one.losses.front());
}

}  // namespace
}  // namespace cleave::tests
