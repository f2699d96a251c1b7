// Any plan on any number of ranks trains with the numbers of one rank.
//
// Each case compiles a model for a number of ranks, builds the program, runs it and compares the loss of
// every step with the single-rank run. Tolerance: 1e-4 relative, which float rounding stays far below in so few steps.

#include <png.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-4;

// Only a few: with relu and a large learning rate a difference in the last bit grows to the second digit within some
// hundred steps, also on one rank (bench/same_numbers shows that).
constexpr size_t kSteps = 12;

// What a program computes of its test data, which it tries once, is not compared: there are few samples.
constexpr char kFewTests[] = "data=digits(test = 300)";

// One output folder per model: the runtime is built once, only program.cc changes between plans.
class SameNumbers : public testing::Test {
 protected:
  std::vector<double> Train(const std::string& model, int ranks, std::vector<std::string> arguments) {
    if (folder_.empty()) folder_ = FreshFolder("same_numbers");
    arguments.insert(arguments.begin(), {"--devices", std::to_string(ranks)});
    for (const std::string& setting : settings_) arguments.insert(arguments.end(), {"--set", setting});
    return TrainModel(DataPath(model), arguments, folder_, kSteps).losses;
  }

  // Losses of `model` on one rank.
  std::vector<double> OneRank(const std::string& model) {
    std::vector<double> one = Train(model, 1, {});
    EXPECT_EQ(one.size(), kSteps);
    EXPECT_LT(one.back(), one.front()) << "the model does not learn, so equal losses would mean little";
    return one;
  }

  void ExpectSame(const std::vector<double>& one, const std::string& model, int ranks,
                  const std::vector<std::string>& plan) {
    std::string shown = model + " on " + std::to_string(ranks) + " ranks";
    for (const std::string& word : plan) shown += " " + word;
    EXPECT_LE(LargestRelativeDifference(Train(model, ranks, plan), one), kTolerance) << shown;
  }

  std::string folder_;
  std::vector<std::string> settings_;  // Of all trainings of a test.
};

TEST_F(SameNumbers, OverMpi) {
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  // MPI adds up in an order of its own, which may be another in each run. With a small learning rate no order makes a
  // unit of the network switch in another step than the others do.
  settings_ = {"optimizer.lr=0.005", kFewTests};
  const std::vector<double> one = OneRank(model);
  for (const int ranks : {3, 8}) {
    const CommandResult compiled = Compile({DataPath(model), "--devices", std::to_string(ranks), "--set", settings_[0],
                                            "--set", settings_[1], "--out", folder_ + "/out", "--quiet"},
                                           folder_);
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    const CommandResult built = Make(folder_ + "/out");
    ASSERT_EQ(built.exit_code, 0) << built.err;
    const CommandResult ran = Start(folder_ + "/out", {"--launch", "mpirun", "--steps", std::to_string(kSteps)});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_LE(LargestRelativeDifference(Losses(folder_ + "/out"), one), kTolerance) << ranks;
  }
}

TEST_F(SameNumbers, MnistMlp) {
  settings_ = {kFewTests};
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 2, {"--search", "sapp"});
  ExpectSame(one, model, 7, {"--search", "data_parallel"});
}

// Primes and products of different ones: pieces are uneven, and axes of several sizes share a dimension.
TEST_F(SameNumbers, OddNumbersOfRanks) {
  settings_ = {kFewTests};
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 12, {"--search", "sapp"});
}

// The contracted dimension is cut, or columns are, or both with an `out` layout.
TEST_F(SameNumbers, PinnedPlansOfTheMlp) {
  settings_ = {kFewTests};
  const std::vector<double> one = OneRank("tests/end_to_end/unpinned.model");
  ExpectSame(one, "tests/end_to_end/pinned_contracted.model", 8, {});
  ExpectSame(one, "tests/end_to_end/pinned_columns.model", 6, {});
  ExpectSame(one, "tests/end_to_end/pinned_mixed.model", 4, {});
}

TEST_F(SameNumbers, SappMlp) {
  settings_ = {kFewTests};
  const std::string model = "examples/sapp_mlp/sapp_mlp.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 8, {"--search", "sapp"});
  // Without shuffling the order of the samples is another, and also the same on any number of ranks.
  const std::vector<double> in_order = Train(model, 1, {"--set", "shuffle=false"});
  EXPECT_GT(LargestRelativeDifference(in_order, one), kTolerance);
  ExpectSame(in_order, model, 3, {"--set", "shuffle=false"});
}

// Statistics over the batch are those of the global batch, whose parts are uneven here.
TEST_F(SameNumbers, Normalisations) {
  const std::string model = "tests/end_to_end/normalized.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 3, {"--search", "data_parallel"});
  ExpectSame(one, model, 7, {"--search", "sapp"});
}

// Optimizer state, gradients and parameters divided among the ranks, evenly and unevenly.
TEST_F(SameNumbers, ShardedOptimizer) {
  settings_ = {kFewTests};
  const std::string model = "examples/mnist_mlp/mnist_mlp.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 7, {"--search", "data_parallel", "--set", "zero=3"});
  ExpectSame(one, model, 4, {"--search", "sapp", "--set", "zero=3"});
}

// Dropout and positions do not depend on how tensors are cut; slices, padding and concatenation read their neighbours'
// elements.
TEST_F(SameNumbers, Sequences) {
  const std::string model = "tests/end_to_end/sequences.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 4, {});
  ExpectSame(one, "tests/end_to_end/sequences_pinned.model", 6, {});
}

// Ten places on two ranks, on four, and on sixteen, of which some have none; slices of one place lie on one rank.
TEST_F(SameNumbers, ShiftsOfCutSequences) {
  folder_ = FreshFolder("shifts");
  const std::string model = folder_ + "/shifts.model";
  const std::string text = ReadText(DataPath("tests/end_to_end/shifts.model"));
  const auto train = [&](const std::string& ranks) {
    WriteText(model, absl::StrReplaceAll(text, {{"sp = 4", "sp = " + ranks}}));
    return TrainModel(model, {"--devices", ranks}, folder_, kSteps).losses;
  };
  const std::vector<double> one = train("1");
  EXPECT_LT(one.back(), one.front());
  for (const char* ranks : {"2", "4", "16"}) {
    EXPECT_LE(LargestRelativeDifference(train(ranks), one), kTolerance) << ranks;
  }
}

// Features and classes are cut: softmax, layer_norm, top_k, losses and metrics run in their distributed forms.
TEST_F(SameNumbers, CutRows) {
  const std::string model = "tests/end_to_end/rows.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 4, {});
  ExpectSame(one, "tests/end_to_end/rows_pinned.model", 3, {});
}

TEST_F(SameNumbers, MnistCnn) {
  const std::string model = "examples/mnist_cnn/mnist_cnn.model";
  settings_ = {"batch=32", kFewTests};
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 3, {"--search", "sapp"});
  ExpectSame(one, model, 8, {"--search", "data_parallel"});
}

// Rows, columns, groups and channels of images are cut.
TEST_F(SameNumbers, Images) {
  const std::string model = "tests/end_to_end/images.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 4, {});
  ExpectSame(one, "tests/end_to_end/images_pinned.model", 6, {});
}

// Writes an image whose colour says its class, with a pattern of its own.
void WritePicture(const std::string& path, int kind, int number) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.format = PNG_FORMAT_RGB;
  image.width = static_cast<png_uint_32>(20 + number % 5);
  image.height = static_cast<png_uint_32>(30 - number % 7);
  std::vector<uint8_t> pixels;
  for (png_uint_32 i = 0; i < image.width * image.height; ++i) {
    for (int channel = 0; channel < 3; ++channel) {
      const png_uint_32 pattern = (i * static_cast<png_uint_32>(number + 3) + i / image.width * 7) % 90;
      pixels.push_back(static_cast<uint8_t>(pattern + (channel == kind ? 120 : 40)));
    }
  }
  ASSERT_NE(png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr), 0) << image.message;
}

// Every rank decodes the images of its samples, and finds the same one damaged.
TEST_F(SameNumbers, FoldersOfImages) {
  folder_ = FreshFolder("pictures");
  const std::string model = folder_ + "/pictures.model";
  WriteText(model, ReadText(DataPath("tests/end_to_end/pictures.model")));
  for (int number = 0; number < 45; ++number) {
    const int kind = number % 3;
    const std::string path = folder_ + "/train/" + "abc"[kind] + "/" + std::to_string(number) + ".png";
    WritePicture(path, kind, number);
    if (number != 7) continue;
    std::string damaged = ReadText(path);
    damaged[damaged.size() / 2] ^= 1;
    WriteText(path, damaged);
  }
  const auto train = [&](const std::string& ranks) {
    return TrainModel(model, {"--devices", ranks, "--search", "data_parallel"}, folder_, kSteps).losses;
  };
  const std::vector<double> one = train("1");
  EXPECT_LT(one.back(), 0.5 * one.front());
  EXPECT_LE(LargestRelativeDifference(train("2"), one), kTolerance);
  const CommandResult again = StartLocal(folder_ + "/out", {"--steps", "6"});
  EXPECT_NE(again.err.find("/b/7.png` is damaged ("), std::string::npos) << again.err;
  EXPECT_NE(again.err.find("; the next image takes its place: 1 of 1 that `skip_bad` allows\n"), std::string::npos);
}

TEST_F(SameNumbers, TinyGpt) {
  settings_ = {"batch=8"};
  const std::string model = "examples/tiny_gpt/tiny_gpt.model";
  const std::vector<double> one = OneRank(model);
  ExpectSame(one, model, 4, {"--search", "data_parallel"});
  ExpectSame(one, model, 6, {"--search", "sapp"});
}

}  // namespace
}  // namespace cleave::tests
