#include "runtime/data/custom.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Element (i, j) of sample s is 100 s + 10 i + j, and 5 more in the test part; only the piece is written.
void Values(int64_t sample, bool is_test, View<float> values) {
  for (int64_t i = 0; i < values.dimension(0); ++i) {
    for (int64_t j = 0; j < values.dimension(1); ++j) {
      const int64_t number = 100 * sample + 10 * (values.begin[0] + i) + values.begin[1] + j + (is_test ? 5 : 0);
      values[i * values.dimension(1) + j] = static_cast<float>(number);
    }
  }
}

void Label(int64_t sample, bool, View<int32_t> values) { values[0] = static_cast<int32_t>(sample); }

TEST(CustomTest, FunctionsWriteThePiecesOfARank) {
  DataSpec spec = CustomSamples({{"y", Label}, {"x", Values}}, 6, 2);
  spec.shuffle = false;
  float x[4] = {};
  int32_t y[1] = {};
  const Region piece = {{2, 3, 4}, {1, 1, 2}, {1, 2, 2}};
  const auto batches = Batches::Open(spec, {{"x", piece, x}, {"y", {{2}, {1}, {1}}, y, 6}}, 1);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 6);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 2);
  batches.value()->LoadTraining(1);
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{312, 313, 322, 323}));
  EXPECT_EQ(y[0], 3);
  batches.value()->LoadPart(DataPart::kTest, 0);
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{117, 118, 127, 128}));
}

TEST(CustomTest, Mistakes) {
  int32_t integers[2] = {};
  const auto open = [&](const DataSpec& spec, int64_t limit) {
    return Batches::Open(spec, {{"y", WholeRegion({2}), integers, limit}}, 1);
  };
  EXPECT_EQ(open(CustomSamples({{"y", Values}}, 6, 2), 0).error().message, "input `y` is i32[2], and `y` makes f32");
  DataSpec spec = CustomSamples({{"y", Label}}, 6, 2);
  spec.shuffle = false;
  const auto batches = open(spec, 5);
  ASSERT_TRUE(batches.ok());
  EXPECT_EXIT(batches.value()->LoadTraining(2), testing::ExitedWithCode(static_cast<int>(ExitCode::kInput)),
              "value 5 that `y` gives for training sample 5 is out of range: the model has 5 classes");
}

}  // namespace
}  // namespace cleave::runtime
