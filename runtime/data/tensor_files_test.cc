#include "runtime/data/tensor_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/data/testing.h"
#include "runtime/mesh/mesh.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::runtime {
namespace {

struct Tensor {
  std::string name, type;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <typename T>
Tensor TensorOf(const std::string& name, const std::string& type, std::vector<int64_t> shape,
                const std::vector<T>& values) {
  return {name, type, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

class TensorFilesTest : public testing::Test {
 protected:
  TensorFilesTest()
      : folder_(testing::TempDir() + "/tensors_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
                "_") {}

  std::string Write(const std::string& name, const std::vector<Tensor>& tensors) const {
    std::vector<SafetensorsEntry> entries;
    std::string bytes;
    for (const Tensor& tensor : tensors) {
      entries.push_back({tensor.name, tensor.type, tensor.shape, 0, static_cast<int64_t>(tensor.bytes.size())});
      bytes += tensor.bytes;
    }
    const std::string path = folder_ + name;
    const std::string header = SafetensorsHeader(entries, {}).value();
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(header.data(), 1, header.size(), file);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    return path;
  }

  Result<std::unique_ptr<Batches>> Open(const std::vector<InputFile>& files, int64_t classes = 10) {
    DataSpec spec = TensorFiles(files, {{"y", {"labels"}}, {"x", {"images"}}});
    spec.shuffle = false;
    return Batches::Open(spec, {{"x", WholeRegion({2, 3}), x_}, {"y", WholeRegion({2}), y_, classes}}, 1);
  }

  std::string Mistake(const std::vector<Tensor>& tensors, int64_t classes = 10) {
    return MistakeOf(Open({{"train", Write("t", tensors)}}, classes), folder_);
  }

  const std::string folder_;
  float x_[6];
  int32_t y_[2];
};

TEST_F(TensorFilesTest, SamplesOfSeveralFilesAndTypes) {
  Write("1", {TensorOf<uint8_t>("images", "U8", {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 255}),
              TensorOf<int64_t>("labels", "I64", {3}, {7, 8, 9}), TensorOf<float>("other", "F32", {1}, {5})});
  Write("2",
        {TensorOf<double>("images", "F64", {1, 3}, {0.5, -1.5, 2.5}), TensorOf<uint16_t>("labels", "U16", {1}, {3})});
  const std::string test = Write("test", {TensorOf<float>("images", "F32", {2, 3}, {1, 2, 3, 4, 5, 6}),
                                          TensorOf<int8_t>("labels", "I8", {2}, {1, 2})});
  const auto batches = Open({{"train", folder_ + "?"}, {"test", test}});
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 4);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 2);
  batches.value()->LoadTraining(1);
  EXPECT_EQ(std::vector<float>(x_, x_ + 6), (std::vector<float>{6, 7, 255, 0.5, -1.5, 2.5}));
  EXPECT_EQ(std::vector<int32_t>(y_, y_ + 2), (std::vector<int32_t>{9, 3}));
  batches.value()->LoadPart(DataPart::kTest, 0);
  EXPECT_EQ(x_[5], 6);
  EXPECT_EQ(y_[1], 2);
  float piece[2] = {};
  const Region column = {{2, 3}, {0, 2}, {2, 1}};
  DataSpec spec = TensorFiles({{"train", folder_ + "?"}}, {{"x", {"images"}}});
  spec.shuffle = false;
  const auto part = Batches::Open(spec, {{"x", column, piece}}, 1);
  ASSERT_TRUE(part.ok()) << part.error().message;
  part.value()->LoadTraining(1);
  EXPECT_EQ(piece[0], 255);
  EXPECT_EQ(piece[1], 2.5);
}

TEST_F(TensorFilesTest, Mistakes) {
  const Tensor images = TensorOf<float>("images", "F32", {2, 3}, std::vector<float>(6));
  const Tensor labels = TensorOf<int32_t>("labels", "I32", {2}, {0, 5});
  EXPECT_EQ(Mistake({images, labels}), "no error");
  EXPECT_EQ(Mistake({images}), "`t` has no tensor `labels`");
  EXPECT_EQ(Mistake({images, labels}, 5),
            "value 5 at index 1 of tensor `labels` in `t` is out of range: the model has 5 classes");
  EXPECT_EQ(Mistake({images, TensorOf<int64_t>("labels", "I64", {2}, {0, int64_t{1} << 40})}, 0),
            "value 1099511627776 at index 1 of tensor `labels` in `t` is out of range: i32 does not hold it");
  EXPECT_EQ(Mistake({images, TensorOf<int32_t>("labels", "I32", {3}, {0, 1, 2})}),
            "`t` has 2 samples of `images`, and 3 of `labels`");
  EXPECT_EQ(Mistake({images, TensorOf<float>("labels", "F32", {2}, {0, 1})}),
            "`t` has tensor `labels` as F32[2], and input `y` is i32[2]: f32 takes floats and integers of 8 bits, i32 "
            "integers");
  EXPECT_EQ(Mistake({TensorOf<float>("images", "F32", {3, 2}, std::vector<float>(6)), labels}),
            "`t` has tensor `images` as F32[3, 2], and input `x` is f32[2, 3]: all dimensions but the first, of the "
            "samples, must be equal");
}

}  // namespace
}  // namespace cleave::runtime
