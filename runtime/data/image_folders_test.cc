#include "runtime/data/image_folders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/picture.h"
#include "runtime/data/testing.h"
#include "runtime/file/file.h"
#include "runtime/mesh/mesh.h"
#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

constexpr char kImages[] = "runtime/image/testdata/";
constexpr int64_t kRows = 14, kColumns = 16, kPixels = kRows * kColumns;

class ImageFoldersTest : public testing::Test {
 protected:
  ImageFoldersTest()
      : folder_(testing::TempDir() + "/images_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "/") {
    std::filesystem::remove_all(folder_);
  }

  // A copy of a file of the test data, such as "train/cat/1.png".
  void Copy(const std::string& from, const std::string& to) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + to).parent_path());
    std::filesystem::copy_file(kImages + from, folder_ + to);
    std::filesystem::permissions(folder_ + to, std::filesystem::perms::owner_all);
  }

  void Write(const std::string& name, const std::string& text) const {
    std::FILE* file = std::fopen((folder_ + name).c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }

  std::string BytesOf(const std::string& name) const {
    const std::vector<uint8_t> bytes = ReadFile(kImages + name).value();
    return {bytes.begin(), bytes.end()};
  }

  // A PNG file whose pixels are damaged, so that only decoding shows it.
  void WriteDamaged(const std::string& name) const {
    std::string damaged = BytesOf("color.png");
    damaged[60] ^= 1;
    Write(name, damaged);
  }

  void TwoClasses() const {
    Copy("color.png", "train/dog/1.png");
    Copy("color.jpg", "train/dog/2.JPG");
    Copy("grey.png", "train/cat/b.png");
    Copy("palette.png", "train/cat/a.png");
    Copy("inks.jpg", "train/cat/c.jpeg");
  }

  // In batches of two.
  std::vector<ModelInput> Inputs(int64_t classes = 2) {
    return {{"image", WholeRegion({2, 3, kRows, kColumns}), image_}, {"label", WholeRegion({2}), label_, classes}};
  }

  DataSpec Spec(ImageReading reading = {}, int64_t skip_bad = 0) const {
    DataSpec spec = ImageFolders({{"train", folder_ + "train"}}, std::move(reading), skip_bad);
    spec.shuffle = false;
    return spec;
  }

  std::string Mistake(int64_t skip_bad = 0) {
    return MistakeOf(Batches::Open(Spec({}, skip_bad), Inputs(), 1), folder_);
  }

  const std::string folder_;
  float image_[2 * 3 * kPixels];
  int32_t label_[2];
};

TEST_F(ImageFoldersTest, ClassesAreFoldersInTheOrderOfTheirNames) {
  TwoClasses();
  Copy("color_16.png", "test/dog/1.png");
  const DataSpec spec = [&] {
    DataSpec both = ImageFolders({{"train", folder_ + "train"}, {"test", folder_ + "test"}}, {});
    both.shuffle = false;
    return both;
  }();
  const auto batches = Batches::Open(spec, Inputs(), 1);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 5);
  EXPECT_EQ(batches.value()->note(), "images: 2 classes, 0 = cat, 1 = dog");
  // Three cats at 1/6, 3/6 and 5/6, and two dogs at 1/4 and 3/4.
  batches.value()->LoadTraining(0);
  EXPECT_EQ(label_[0], 0);
  EXPECT_EQ(label_[1], 1);
  EXPECT_EQ(batches.value()->LoadPart(DataPart::kTest, 0), 1);
  EXPECT_EQ(label_[0], 1);
  EXPECT_EQ(MistakeOf(Batches::Open(Spec(), Inputs(1), 1), folder_),
            "input `label` is i32[2]; the model has 1 classes, and `train` has 2 folders");
  Copy("color.png", "test/owl/1.png");
  EXPECT_EQ(MistakeOf(Batches::Open(spec, Inputs(), 1), folder_),
            "`test/owl` is a class that the training part does not have");
}

// The middle of the image, by channel, as numbers and as they are.
TEST_F(ImageFoldersTest, PixelsOfTheMiddle) {
  Copy("color.png", "train/a/1.png");
  Copy("color.png", "train/a/2.png");
  // Case 32 of the test data: 14x16 of the middle.
  const std::string all = BytesOf("cases.pixels");
  const int64_t before = 15 * 19 * 23 * 4;
  int32_t bytes[2 * 3 * kPixels];
  // As large as the crop, 19 rows would become 14: the shorter side stays 19.
  const auto as_floats =
      Batches::Open(Spec({.shorter_side = 19, .mean = {0.5, 0.25, 0}, .deviation = {2}}), Inputs(), 1);
  const auto as_bytes =
      Batches::Open(Spec({.shorter_side = 19}), {{"image", WholeRegion({2, 3, kRows, kColumns}), bytes, 256}}, 1);
  ASSERT_TRUE(as_floats.ok()) << as_floats.error().message;
  ASSERT_TRUE(as_bytes.ok()) << as_bytes.error().message;
  as_floats.value()->LoadTraining(0);
  as_bytes.value()->LoadTraining(0);
  const float means[] = {0.5, 0.25, 0};
  for (int64_t channel = 0; channel < 3; ++channel) {
    for (int64_t i = 0; i < kPixels; ++i) {
      const auto byte = static_cast<uint8_t>(all[static_cast<size_t>(before + 3 * i + channel)]);
      const int64_t place = channel * kPixels + i;
      ASSERT_EQ(bytes[place], byte);
      ASSERT_EQ(bytes[3 * kPixels + place], byte) << "the second sample";
      ASSERT_FLOAT_EQ(image_[place], (static_cast<float>(byte) / 255 - means[channel]) / 2);
    }
  }
}

// Whatever is random depends on the seed, the epoch and the sample: not on which part of it a rank holds.
TEST_F(ImageFoldersTest, RandomPartsAreTheSameForAllCuts) {
  TwoClasses();
  DataSpec spec = Spec({.shorter_side = 30, .crop = ImageCrop::kRandom, .flip = true});
  spec.shuffle = true;
  float piece[2 * kPixels / 2];
  const Region columns = {{2, 3, kRows, kColumns}, {0, 1, 0, kColumns / 2}, {2, 2, kRows / 2, kColumns / 2}};
  const auto whole = Batches::Open(spec, Inputs(), 7);
  const auto part = Batches::Open(spec, {{"image", columns, piece}}, 7);
  const auto other = Batches::Open(spec, Inputs(), 8);
  ASSERT_TRUE(part.ok()) << part.error().message;
  std::set<std::vector<float>> seen;
  for (const int64_t step : {0, 1, 2, 3, 5, 4, 4}) {
    part.value()->LoadTraining(step);
    other.value()->LoadTraining(step);
    seen.insert(std::vector<float>(image_, image_ + 3 * kPixels));
    whole.value()->LoadTraining(step);
    seen.insert(std::vector<float>(image_, image_ + 3 * kPixels));
    size_t at = 0;
    for (int64_t sample = 0; sample < 2; ++sample) {
      for (int64_t channel = 1; channel < 3; ++channel) {
        for (int64_t row = 0; row < kRows / 2; ++row) {
          for (int64_t column = kColumns / 2; column < kColumns; ++column) {
            ASSERT_EQ(piece[at++], image_[((sample * 3 + channel) * kRows + row) * kColumns + column]) << step;
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 12u) << "of six steps and two seeds";
}

// Parts of any size that are resized, each of which is inside of the image: a picture of it is as bright as the image.
TEST_F(ImageFoldersTest, ScaledParts) {
  Image image = {40, 60, 1, {}};
  for (int64_t row = 0; row < image.rows; ++row) {
    for (int64_t column = 0; column < image.columns; ++column) {
      image.pixels.push_back(static_cast<uint8_t>(4 * column));  // Its slope says how much was resized.
    }
  }
  const Picture picture = {1, 10, 10};
  const ImageReading reading = {.crop = ImageCrop::kScaled};
  const PhiloxKey key = StreamKey({1, "images"});
  std::vector<int> widths(61), lefts(61);
  for (int64_t number = 0; number < 300; ++number) {
    const Image seen = PictureIn(image, picture, reading, {DataSplit::kTrain, number, 3}, key);
    EXPECT_EQ(seen.pixels, PictureIn(image, picture, reading, {DataSplit::kTrain, number, 3}, key).pixels);
    EXPECT_NE(seen.pixels, PictureIn(image, picture, reading, {DataSplit::kTrain, number, 4}, key).pixels);
    // Between the middles of pixels 1 and 8 lie seven tenths of the part.
    const double width = (seen.pixels[8] - seen.pixels[1]) / 4.0 / 0.7;
    EXPECT_GE(width, std::sqrt(0.08 * 2400 * 3 / 4) - 2);
    EXPECT_LE(width, 56 + 2) << "40 rows of 4:3 have 53.3 columns, and those of all are 56.6";
    ++widths[static_cast<size_t>(width)];
    ++lefts[static_cast<size_t>(seen.pixels[0] / 4)];
  }
  EXPECT_GT(std::count_if(widths.begin(), widths.end(), [](int count) { return count > 0; }), 20);
  EXPECT_GT(std::count_if(lefts.begin(), lefts.end(), [](int count) { return count > 0; }), 20);
  const Image evaluated = PictureIn(image, picture, reading, {DataSplit::kTrain, 5}, key);
  EXPECT_EQ(evaluated.pixels[0], 4 * 9.5) << "columns 8 to 11: of 15 that are left the middle 10 begin with the third";
  // Nothing of these sizes lies in a strip, of which the middle is taken.
  const Image strip =
      PictureIn({1, 100, 1, std::vector<uint8_t>(100, 7)}, picture, reading, {DataSplit::kTrain, 1, 0}, key);
  EXPECT_EQ(strip.pixels, std::vector<uint8_t>(100, 7));
}

// What is evaluated is neither moved nor flipped, and has all classes.
TEST_F(ImageFoldersTest, ValidationIsOfAllClassesAndNotRandom) {
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(10 + i);
    Copy("color.png", "train/a/" + number + ".png");
    if (i < 10) Copy("color.png", "train/b/" + number + ".png");
  }
  DataSpec spec = Spec({.shorter_side = 30, .crop = ImageCrop::kRandom, .flip = true});
  spec.validation = 0.2;
  const auto batches = Batches::Open(spec, Inputs(), 1);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  std::map<int32_t, int> labels;
  std::set<std::vector<float>> seen, trained;
  for (int64_t index = 0; index < batches.value()->batches(DataPart::kValidation); ++index) {
    batches.value()->LoadPart(DataPart::kValidation, index);
    for (int row = 0; row < 2; ++row) {
      ++labels[label_[row]];
      seen.insert(std::vector<float>(image_ + row * 3 * kPixels, image_ + (row + 1) * 3 * kPixels));
    }
  }
  EXPECT_EQ(labels, (std::map<int32_t, int>{{0, 4}, {1, 2}}));
  EXPECT_EQ(seen.size(), 1u);
  for (int64_t step = 0; step < batches.value()->steps_per_epoch(); ++step) {
    batches.value()->LoadTraining(step);
    trained.insert(std::vector<float>(image_, image_ + 3 * kPixels));
  }
  EXPECT_GT(trained.size(), 6u);
}

TEST_F(ImageFoldersTest, FilesThatAreNoImages) {
  TwoClasses();
  Write("train/cat/d.png", "");
  Write("train/cat/e.jpg", "some text");
  const std::string image = BytesOf("color.jpg");
  Write("train/cat/f.jpg", image.substr(0, image.size() - 90));
  std::filesystem::create_directories(folder_ + "train/cat/g.png");
  Write("train/cat/notes.txt", "ignored");
  Write("train/cat/.hidden.png", "ignored");
  Write("train/labels.csv", "ignored");
  EXPECT_EQ(Mistake(), "`train/cat/d.png` is empty");
  EXPECT_EQ(Mistake(1),
            "`train/cat/e.jpg` is neither a PNG nor a JPEG file; 1 before it are left out, as many as `skip_bad` "
            "allows");
  EXPECT_EQ(Mistake(2),
            "`train/cat/f.jpg` ends in the middle of its data; 2 before it are left out, as many as `skip_bad` allows");
  EXPECT_EQ(Mistake(3),
            "cannot read `train/cat/g.png`: it is a directory, not a file; 3 before it are left out, as many as "
            "`skip_bad` allows");
  const auto batches = Batches::Open(Spec({}, 4), Inputs(), 1);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 5);
  EXPECT_NE(batches.value()->note().find("0 = cat, 1 = dog; 4 files left out: `"), std::string::npos);
  // What only decoding shows counts as well.
  WriteDamaged("train/dog/3.png");
  const auto late = Batches::Open(Spec({}, 4), Inputs(), 1);
  ASSERT_TRUE(late.ok()) << late.error().message;
  EXPECT_EXIT(for (int64_t step = 0; step < 3; ++step) late.value()->LoadTraining(step),
              testing::ExitedWithCode(static_cast<int>(ExitCode::kInput)),
              "dog/3.png` is damaged \\(IDAT.*; 4 before it are left out, as many as `skip_bad` allows");
}

// Cats a, b, c and dogs 1, 2, 3 take turns.
TEST_F(ImageFoldersTest, DamageInTheMiddleOfAFile) {
  TwoClasses();
  Copy("color.png", "train/dog/3.png");
  const auto read = [&](Batches& batches, int64_t step) {
    batches.LoadTraining(step);
    std::vector<std::pair<int32_t, std::vector<float>>> samples;
    for (int row = 0; row < 2; ++row) {
      const float* const own = image_ + row * 3 * kPixels;
      samples.emplace_back(label_[row], std::vector<float>(own, own + 3 * kPixels));
    }
    return samples;
  };
  const auto whole = Batches::Open(Spec(), Inputs(), 1);
  const auto good = std::vector{read(*whole.value(), 0), read(*whole.value(), 1), read(*whole.value(), 2)};
  // Dogs 1 and 3, the second sample and the last one, whose next is the first.
  WriteDamaged("train/dog/1.png");
  WriteDamaged("train/dog/3.png");
  const auto expected = std::vector{std::vector{good[0][0], good[1][0]}, good[1], std::vector{good[2][0], good[0][0]}};
  const auto batches = Batches::Open(Spec({}, 2), Inputs(), 1);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  testing::internal::CaptureStderr();
  // From any step on, as after `--resume`, and again.
  for (const int64_t step : {2, 0, 1, 3, 5}) {
    EXPECT_EQ(read(*batches.value(), step), expected[static_cast<size_t>(step % 3)]) << step;
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  EXPECT_NE(said.find("dog/3.png` is damaged (IDAT"), std::string::npos) << said;
  EXPECT_NE(said.find("; the next image takes its place: 2 of 2 that `skip_bad` allows\n"), std::string::npos) << said;
  // Labels alone are those of the images that are shown.
  const auto labels = Batches::Open(Spec({}, 2), {{"label", WholeRegion({2}), label_, 2}}, 1);
  labels.value()->LoadTraining(0);
  EXPECT_EQ(label_[1], 0);
  // What is set aside takes the place of nothing that is trained: the last two, of which the next of the first is the
  // second, and of the second the first.
  DataSpec divided = Spec({}, 2);
  divided.validation = 1.0 / 3;
  const auto parts = Batches::Open(divided, Inputs(), 1);
  parts.value()->LoadPart(DataPart::kValidation, 0);
  EXPECT_EQ(label_[0], 0);
  EXPECT_EQ(label_[1], 0);
  EXPECT_EQ(std::vector<float>(image_, image_ + 3 * kPixels), good[2][0].second);
  EXPECT_EQ(std::vector<float>(image_ + 3 * kPixels, image_ + 6 * kPixels), good[2][0].second);
  const auto one = Batches::Open(Spec({}, 1), Inputs(), 1);
  one.value()->LoadTraining(0);
  EXPECT_EXIT(one.value()->LoadTraining(2), testing::ExitedWithCode(static_cast<int>(ExitCode::kInput)),
              "error: .*dog/3.png` is damaged .*; 1 before it are left out, as many as `skip_bad` allows");
  const auto none = Batches::Open(Spec(), Inputs(), 1);
  EXPECT_EXIT(none.value()->LoadTraining(0), testing::ExitedWithCode(static_cast<int>(ExitCode::kInput)),
              "error: .*dog/1.png` is damaged \\(IDAT[^;]*\n");
}

TEST_F(ImageFoldersTest, FoldersThatAreNone) {
  EXPECT_EQ(Mistake(), "cannot read `train`: No such file or directory");
  std::filesystem::create_directories(folder_ + "train");
  Copy("color.png", "train/1.png");
  EXPECT_EQ(Mistake(), "`train` has no folders: each class has one, with its images");
  std::filesystem::create_directories(folder_ + "train/cat");
  EXPECT_EQ(Mistake(), "`train/cat` has no images: files .png, .jpg or .jpeg");
  std::filesystem::create_directories(folder_ + "train/cat/old");
  EXPECT_EQ(Mistake(), "`train/cat/old` is a folder in the folder of a class, where images are expected");
}

TEST_F(ImageFoldersTest, InputsThatDoNotFit) {
  TwoClasses();
  const auto mistake = [&](const std::vector<int64_t>& shape, ImageReading reading) {
    return MistakeOf(Batches::Open(Spec(std::move(reading)), {{"image", WholeRegion(shape), image_}}, 1), folder_);
  };
  EXPECT_EQ(mistake({2, 1, 5, 7}, {}), "no error");
  EXPECT_EQ(mistake({2, 4, 5, 5}, {}),
            "input `image` is f32[2, 4, 5, 5]; images are [batch, channels, rows, columns], with 1 channel or 3");
  EXPECT_EQ(mistake({2, 75}, {}),
            "input `image` is f32[2, 75]; images are [batch, channels, rows, columns], with 1 channel or 3");
  EXPECT_EQ(mistake({2, 3, 5, 8}, {.shorter_side = 7}),
            "input `image` is f32[2, 3, 5, 8]; images whose shorter side is 7 do not cover it");
  EXPECT_EQ(mistake({2, 1, 5, 5}, {.mean = {1, 2, 3}}),
            "input `image` is f32[2, 1, 5, 5]; `mean` or `std` has 3 numbers");
}

}  // namespace
}  // namespace cleave::runtime
