#include "runtime/data/mnist.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

void Append(Bytes& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
}

// Images of 2x3 pixels; pixel p of image i is 10 * i + p, its label i % 10.
Bytes Images(uint32_t count) {
  Bytes bytes;
  for (const uint32_t word : {0x00000803u, count, 2u, 3u}) Append(bytes, word);
  for (uint32_t i = 0; i < count * 6; ++i) bytes.push_back(static_cast<uint8_t>(10 * (i / 6) + i % 6));
  return bytes;
}

Bytes Labels(uint32_t count) {
  Bytes bytes;
  for (const uint32_t word : {0x00000801u, count}) Append(bytes, word);
  for (uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(i % 10));
  return bytes;
}

// A folder with the four files, which a test then damages.
class Mnist_ : public testing::Test {
 protected:
  Mnist_() : folder_(testing::TempDir() + "/mnist_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    mkdir(folder_.c_str(), 0777);
    for (const char* file : kFiles) {
      std::remove(Path(file).c_str());
      std::remove((Path(file) + ".gz").c_str());
    }
    Write(kTrainImages, Images(12));
    Write(kTrainLabels, Labels(12));
    Write(kTestImages, Images(5));
    Write(kTestLabels, Labels(5));
  }

  std::string Path(const std::string& file) const { return folder_ + "/" + file; }

  void Write(const std::string& file, const Bytes& bytes) const {
    std::FILE* out = std::fopen(Path(file).c_str(), "wb");
    ASSERT_NE(out, nullptr);
    if (!bytes.empty()) std::fwrite(bytes.data(), 1, bytes.size(), out);
    std::fclose(out);
  }

  void WriteCompressed(const std::string& file, const Bytes& bytes) const {
    gzFile out = gzopen((Path(file) + ".gz").c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
  }

  Result<std::unique_ptr<Batches>> Open(std::vector<int64_t> image_shape = {4, 1, 2, 3}, int64_t classes = 10) {
    image_.assign(static_cast<size_t>(ElementCount(image_shape)), -1);
    label_.assign(static_cast<size_t>(image_shape[0]), -1);
    const int64_t batch = image_shape[0];
    return Batches::Open(
        Mnist(folder_),
        {{"image", WholeRegion(image_shape), image_.data()}, {"label", WholeRegion({batch}), label_.data(), classes}},
        1);
  }

  // The message of the error that opening must give, with the folder left out.
  std::string Mistake(std::vector<int64_t> image_shape = {4, 1, 2, 3}, int64_t classes = 10) {
    const Result<std::unique_ptr<Batches>> result = Open(std::move(image_shape), classes);
    if (result.ok()) return "no error";
    EXPECT_EQ(result.error().code, ExitCode::kInput);
    std::string text = result.error().message;
    for (size_t at = text.find(folder_); at != std::string::npos; at = text.find(folder_))
      text.replace(at, folder_.size(), "DIR");
    return text;
  }

  static constexpr char kTrainImages[] = "train-images-idx3-ubyte";
  static constexpr char kTrainLabels[] = "train-labels-idx1-ubyte";
  static constexpr char kTestImages[] = "t10k-images-idx3-ubyte";
  static constexpr char kTestLabels[] = "t10k-labels-idx1-ubyte";
  static constexpr const char* kFiles[] = {kTrainImages, kTrainLabels, kTestImages, kTestLabels};
  const std::string folder_;
  std::vector<float> image_;
  std::vector<int32_t> label_;
};

TEST_F(Mnist_, ReadsImagesNormalisedWithTheirLabels) {
  Result<std::unique_ptr<Batches>> batches = Open();
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 12);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 5);
  EXPECT_EQ(batches.value()->steps_per_epoch(), 3);
  EXPECT_EQ(batches.value()->batches(DataPart::kTest), 2);
  batches.value()->LoadTraining(0);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t pixel = 0; pixel < 6; ++pixel) {
      // The first pixel tells which image it is.
      const int image = static_cast<int>((image_[row * 6] * 0.3081f + 0.1307f) * 255 + 0.5f) / 10;
      EXPECT_EQ(label_[row], image % 10);
      EXPECT_FLOAT_EQ(image_[row * 6 + pixel],
                      (static_cast<float>(10 * image + static_cast<int>(pixel)) / 255 - 0.1307f) / 0.3081f);
    }
  }
}

TEST_F(Mnist_, ReadsCompressedFilesWhateverTheirName) {
  std::remove(Path(kTrainImages).c_str());
  WriteCompressed(kTrainImages, Images(12));
  WriteCompressed(kTestLabels, Labels(5));
  std::rename((Path(kTestLabels) + ".gz").c_str(), Path(kTestLabels).c_str());
  EXPECT_EQ(Mistake(), "no error");
}

TEST_F(Mnist_, NamesAllMissingFiles) {
  std::remove(Path(kTrainLabels).c_str());
  std::remove(Path(kTestImages).c_str());
  EXPECT_EQ(Mistake(),
            "neither `DIR/train-labels-idx1-ubyte` nor `DIR/train-labels-idx1-ubyte.gz` exists\n"
            "error: neither `DIR/t10k-images-idx3-ubyte` nor `DIR/t10k-images-idx3-ubyte.gz` exists");
}

TEST_F(Mnist_, WrongMagic) {
  Write(kTrainImages, Labels(12));
  EXPECT_EQ(Mistake(),
            "`DIR/train-images-idx3-ubyte` is not an IDX file of bytes with 3 dimensions: its magic number is "
            "0x00000801, expected 0x00000803");
}

TEST_F(Mnist_, Truncated) {
  Bytes images = Images(12);
  images.resize(images.size() - 7);
  Write(kTrainImages, images);
  EXPECT_EQ(Mistake(), "`DIR/train-images-idx3-ubyte` is truncated: its header says 12x2x3 = 72 values, it holds 65");
  images.resize(10);
  Write(kTrainImages, images);
  EXPECT_EQ(Mistake(), "`DIR/train-images-idx3-ubyte` is truncated: an IDX header has 16 bytes, the file 10");
  Write(kTrainImages, {});
  EXPECT_EQ(Mistake(), "`DIR/train-images-idx3-ubyte` is truncated: an IDX header has 16 bytes, the file 0");
}

TEST_F(Mnist_, TooLong) {
  Bytes labels = Labels(12);
  labels.push_back(1);
  Write(kTrainLabels, labels);
  EXPECT_EQ(Mistake(), "`DIR/train-labels-idx1-ubyte` is too long: its header says 12 = 12 values, and more follow");
}

TEST_F(Mnist_, SizesThatOverflow) {
  Bytes images;
  for (const uint32_t word : {0x00000803u, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu}) Append(images, word);
  Write(kTrainImages, images);
  EXPECT_EQ(Mistake(),
            "`DIR/train-images-idx3-ubyte` has an impossible size in its header: 4294967295x4294967295x4294967295");
}

TEST_F(Mnist_, CountsThatDiffer) {
  Write(kTrainLabels, Labels(11));
  EXPECT_EQ(Mistake(), "`DIR/train-images-idx3-ubyte` has 12 images, `DIR/train-labels-idx1-ubyte` has 11 labels");
}

TEST_F(Mnist_, LabelOutOfRange) {
  EXPECT_EQ(Mistake({4, 1, 2, 3}, 8),
            "label 8 at index 8 of `DIR/train-labels-idx1-ubyte` is out of range: the model has 8 classes");
}

TEST_F(Mnist_, CorruptGzip) {
  WriteCompressed(kTrainImages, Images(12));
  std::remove(Path(kTrainImages).c_str());
  std::FILE* file = std::fopen((Path(kTrainImages) + ".gz").c_str(), "r+b");
  std::fseek(file, -6, SEEK_END);
  std::fputc(0x55, file);
  std::fclose(file);
  const std::string mistake = Mistake();
  EXPECT_NE(
      mistake.find(
          "`DIR/train-images-idx3-ubyte.gz` is a gzip file that has data that does not match its checksum, at byte "),
      std::string::npos)
      << mistake;
}

TEST_F(Mnist_, FewerSamplesThanABatch) {
  EXPECT_EQ(Mistake({13, 6}), "mnist `DIR` has 12 training samples, fewer than one batch of 13");
}

TEST_F(Mnist_, ShapeThatDiffers) {
  EXPECT_EQ(Mistake({4, 1, 28, 28}),
            "input `image` is f32[4, 1, 28, 28], 784 values per sample; the images of mnist `DIR` are 2x3 = 6");
}

TEST_F(Mnist_, ADirectoryIsNoFile) {
  std::remove(Path(kTrainImages).c_str());
  mkdir(Path(kTrainImages).c_str(), 0777);
  EXPECT_EQ(Mistake(), "cannot read `DIR/train-images-idx3-ubyte`: it is a directory, not a file");
  rmdir(Path(kTrainImages).c_str());
}

}  // namespace
}  // namespace cleave::runtime
