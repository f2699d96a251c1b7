// Programs that test or predict with the parameters of a checkpoint, on any number of ranks.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

constexpr char kModel[] = "tests/end_to_end/resumed.model";
constexpr int64_t kSamples = 62;
constexpr int64_t kClasses = 7;

// The last checkpoint of training on two ranks, and the accuracy that this training ended with.
struct Trained {
  std::string checkpoints;
  double accuracy = 0;
};

double AccuracyIn(const std::string& out) {
  return (*ParseStrictJson(ReadText(out + "/run.json")))["test"]["accuracy"].get<double>();
}

const Trained& TrainedModel() {
  static const Trained& trained = *new Trained([] {
    const std::string out = FreshFolder("trained");
    EXPECT_EQ(Train(OnTwoRanks(), out, "--quiet --checkpoint-every 100").exit_code, 0);
    return Trained{out + "/checkpoints", AccuracyIn(out)};
  }());
  return trained;
}

// The values of a .npy file of float32.
std::vector<float> FloatsIn(const std::string& path, const std::string& shape) {
  const std::string file = ReadText(path);
  EXPECT_TRUE(absl::StrContains(file, absl::StrCat("'descr': '<f4', 'fortran_order': False, 'shape': (", shape, ")")))
      << file.substr(0, 128);
  const size_t begin = file.find('\n') + 1;
  std::vector<float> values((file.size() - begin) / sizeof(float));
  std::memcpy(values.data(), file.data() + begin, values.size() * sizeof(float));
  return values;
}

TEST(Evaluate, GivesTheAccuracyOfTheTraining) {
  for (const char* const ranks : {"1", "3"}) {
    const LocalProgram program =
        BuildLocal(absl::StrCat("evaluate_", ranks), kModel, {"--mode", "evaluate", "--devices", ranks});
    const std::string out = FreshFolder("evaluated");
    const CommandResult ran = Train(program, out, absl::StrCat("--params ", TrainedModel().checkpoints));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(absl::StrContains(ran.out, "\ntest accuracy ")) << ran.out;
    EXPECT_DOUBLE_EQ(AccuracyIn(out), TrainedModel().accuracy);
  }
}

TEST(Evaluate, IsNotTrainingAndNeedsParameters) {
  const LocalProgram program = BuildLocal("evaluate_1", kModel, {"--mode", "evaluate", "--devices", "1"});
  EXPECT_EQ(Train(program, FreshFolder("none"), "").exit_code, 2);
  EXPECT_EQ(Train(program, FreshFolder("none"), "--checkpoint-every 2").exit_code, 2);
  const CommandResult ran = Train(program, FreshFolder("none"), "--params nowhere");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(absl::StrContains(ran.err, "cannot read `nowhere`")) << ran.err;
}

// Without labels, of data whose last batch is not full, in batches of another size than in training.
TEST(Predict, WritesTheSameRowsOnAnyNumberOfRanks) {
  std::vector<std::vector<float>> logits;
  for (const char* const ranks : {"1", "3"}) {
    const LocalProgram program = BuildLocal(
        absl::StrCat("predict_", ranks), kModel,
        {"--mode", "predict", "--output", "logits", "--output", "g", "--devices", ranks, "--set", "batch=25"});
    const std::string out = FreshFolder(absl::StrCat("predicted_", ranks));
    const CommandResult ran = Train(program, out, absl::StrCat("--params ", TrainedModel().checkpoints));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(FloatsIn(out + "/g.npy", "62, 259,").size(), static_cast<size_t>(kSamples * 259));
    logits.push_back(FloatsIn(out + "/logits.npy", "62, 7,"));
    ASSERT_EQ(logits.back().size(), static_cast<size_t>(kSamples * kClasses));
    EXPECT_FALSE(fs::exists(out + "/logits.npy.unfinished"));
  }
  for (size_t i = 0; i < logits[0].size(); ++i) EXPECT_NEAR(logits[0][i], logits[1][i], 1e-5) << i;
  EXPECT_NE(*std::max_element(logits[0].begin(), logits[0].end()), 0);
}

}  // namespace
}  // namespace cleave::tests
