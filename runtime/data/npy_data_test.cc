#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/npy.h"
#include "runtime/data/testing.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

template <typename T>
std::string NpyBytes(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Samples of 2x3 values: value v of sample s is 10 s + v, and its label is s.
class NpyDataTest : public testing::Test {
 protected:
  NpyDataTest()
      : folder_(testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_") {
    std::vector<float> values;
    for (int i = 0; i < 10 * 6; ++i) values.push_back(static_cast<float>(10 * (i / 6) + i % 6));
    Write("x", NpyBytes("<f4", "(10, 2, 3)", values));
    Write("label", NpyBytes<int64_t>("<i8", "(10,)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }

  void Write(const std::string& name, const std::string& bytes) const {
    std::FILE* out = std::fopen((folder_ + name + ".npy").c_str(), "wb");
    ASSERT_NE(out, nullptr);
    std::fwrite(bytes.data(), 1, bytes.size(), out);
    std::fclose(out);
  }

  DataSpec Spec() const { return Npy({{"label", folder_ + "label.npy"}, {"x", folder_ + "x.npy"}}); }

  std::string Mistake(const std::vector<ModelInput>& inputs) const {
    return MistakeOf(Batches::Open(Spec(), inputs, 1), folder_);
  }

  const std::string folder_;
  std::vector<float> x_ = std::vector<float>(64, -1);
  std::vector<int32_t> label_ = std::vector<int32_t>(64, -1);
};

TEST_F(NpyDataTest, PiecesOfSamplesInTheGlobalOrder) {
  const Region columns = {{4, 2, 3}, {1, 0, 1}, {2, 2, 2}};  // Of rows 1 and 2, the last two columns.
  Result<std::unique_ptr<Batches>> batches =
      Batches::Open(Spec(), {{"x", columns, x_.data()}, {"label", WholeRegion({4}), label_.data(), 10}}, 7);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 10);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 0);
  EXPECT_EQ(batches.value()->steps_per_epoch(), 2);
  std::set<int> seen;
  for (int64_t step = 0; step < 2; ++step) {
    batches.value()->LoadTraining(step);
    for (size_t row = 0; row < 4; ++row) EXPECT_TRUE(seen.insert(label_[row]).second);
    for (size_t row = 0; row < 2; ++row) {
      const float first = 10.0f * static_cast<float>(label_[row + 1]);
      const std::vector<float> expected = {first + 1, first + 2, first + 4, first + 5};
      EXPECT_EQ(std::vector<float>(x_.begin() + static_cast<int>(row) * 4, x_.begin() + static_cast<int>(row) * 4 + 4),
                expected);
    }
  }
}

TEST_F(NpyDataTest, AllMistakesAtOnce) {
  EXPECT_EQ(
      Mistake({{"x", WholeRegion({4, 3, 2}), x_.data()}, {"label", WholeRegion({4}), label_.data(), 5}}),
      "`x.npy` holds float32[10, 2, 3], and input `x` is f32[4, 3, 2]: all dimensions but the first, of the samples, "
      "must be equal\n"
      "error: value 5 at index 5 of `label.npy` is out of range: the model has 5 classes");
}

TEST_F(NpyDataTest, TypesAreNotMixed) {
  EXPECT_EQ(Mistake({{"x", WholeRegion({4, 2, 3}), label_.data()}, {"label", WholeRegion({4}), label_.data()}}),
            "`x.npy` holds float32[10, 2, 3], and input `x` is i32[4, 2, 3]: f32 takes floats, i32 integers");
}

TEST_F(NpyDataTest, SampleCountsDiffer) {
  Write("label", NpyBytes<int32_t>("<i4", "(9,)", {0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(Mistake({{"x", WholeRegion({4, 2, 3}), x_.data()}, {"label", WholeRegion({4}), label_.data()}}),
            "`x.npy` has 10 samples, `label.npy` 9");
}

TEST_F(NpyDataTest, FewerThanABatch) {
  EXPECT_EQ(Mistake({{"x", WholeRegion({11, 2, 3}), x_.data()}, {"label", WholeRegion({11}), label_.data()}}),
            "npy has 10 training samples, fewer than one batch of 11");
}

// Whatever the samples are, a step reads its record, and behind the last one the first.
TEST_F(NpyDataTest, EachStepReadsARecord) {
  Write("table", NpyBytes<float>("<f4", "(3, 2, 2)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  std::vector<float> table(2, -1);
  ModelInput of_step = {"table", {{2, 2}, {0, 1}, {2, 1}}, table.data()};  // The second column.
  of_step.file = EachStepFromNpy(folder_ + "table.npy");
  const ModelInput x = {"x", WholeRegion({4, 2, 3}), x_.data()};
  Result<std::unique_ptr<Batches>> batches = Batches::Open(Spec(), {of_step, x}, 7);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->batch(), 4);
  for (const int64_t step : {0, 2, 4}) {
    batches.value()->LoadTraining(step);
    const auto first = static_cast<float>(4 * (step % 3));
    EXPECT_EQ(table, (std::vector<float>{first + 1, first + 3})) << step;
  }
  ModelInput once = of_step;
  once.file = OnceFromNpy(folder_ + "table.npy");
  EXPECT_EQ(InputsOfSteps({x, once, of_step}).size(), 2);
  EXPECT_EQ(once.file.open(once).error().message, "`" + folder_ +
                                                      "table.npy` holds float32[3, 2, 2], and input "
                                                      "`table` is f32[2, 2]");
}

TEST_F(NpyDataTest, InputsReadOnce) {
  ModelInput input = {"label", {{10}, {4}, {3}}, label_.data(), 10};
  input.file = OnceFromNpy(folder_ + "label.npy");
  const Result<std::unique_ptr<Records>> records = input.file.open(input);
  ASSERT_TRUE(records.ok()) << records.error().message;
  EXPECT_FALSE(records.value()->Read(0, input).has_value());
  EXPECT_EQ(std::vector<int32_t>(label_.begin(), label_.begin() + 4), (std::vector<int32_t>{4, 5, 6, -1}));
  input.limit = 9;
  EXPECT_FALSE(input.file.open(input).ok());
  input.file = OnceFromNpy(folder_ + "none.npy");
  EXPECT_FALSE(input.file.open(input).ok());
}

}  // namespace
}  // namespace cleave::runtime
