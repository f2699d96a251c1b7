// Samples that are set aside from those that train: of every source, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/data.h"
#include "runtime/data/digits.h"
#include "runtime/data/mnist.h"
#include "runtime/data/npy.h"
#include "runtime/data/synthetic.h"
#include "runtime/data/tokens.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

using Sample = std::vector<float>;
using Samples = std::vector<Sample>;

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return path;
}

// A file of `count` rows of 784 pixels, each different, or of as many labels.
std::string IdxBytes(int count, bool is_images) {
  const auto number = [](int value) {
    return std::string{'\0', '\0', static_cast<char>(value >> 8), static_cast<char>(value)};
  };
  std::string bytes = number(is_images ? 0x803 : 0x801) + number(count);
  if (is_images) bytes += number(28) + number(28);
  for (int i = 0; i < count * (is_images ? 784 : 1); ++i) {
    bytes += static_cast<char>(is_images ? (i / 784 + i) % 251 : i % 10);
  }
  return bytes;
}

// The four files of MNIST, with this many images for training and 5 for testing.
DataSpec MnistFiles(int count) {
  for (const bool is_images : {false, true}) {
    const std::string end = is_images ? "-images-idx3-ubyte" : "-labels-idx1-ubyte";
    Write("train" + end, IdxBytes(count, is_images));
    Write("t10k" + end, IdxBytes(5, is_images));
  }
  return Mnist(testing::TempDir());
}

DataSpec NpyFiles(int count) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ", 784), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int i = 0; i < count * 784; ++i) {
    const float value = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return Npy({{"image", Write("image.npy", bytes)}});
}

// The piece of the samples that one of `ranks` ranks holds.
struct Reader {
  Reader(const DataSpec& spec, int64_t batch, int64_t ranks = 1, int64_t rank = 0) {
    region = WholeRegion({batch, 784});
    const Range piece = Piece(batch, ranks, rank);
    region.begin[0] = piece.begin;
    region.size[0] = piece.size;
    values.assign(static_cast<size_t>(ElementCount(region.size)), -99);
    Result<std::unique_ptr<Batches>> opened = Batches::Open(spec, {{"image", region, values.data()}}, 3);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    batches = std::move(opened.value());
  }

  void Take(int64_t rows, Samples& samples) const {
    for (int64_t row = 0; row < std::min(rows - region.begin[0], region.size[0]); ++row) {
      samples.emplace_back(values.begin() + row * 784, values.begin() + (row + 1) * 784);
    }
  }

  Samples Epoch() const {
    Samples samples;
    for (int64_t step = 0; step < batches->steps_per_epoch(); ++step) {
      batches->LoadTraining(step);
      Take(batches->batch(), samples);
    }
    return samples;
  }

  Samples Of(DataPart part) const {
    Samples samples;
    batches->PreparePart(part, batches->batches(part));
    for (int64_t index = 0; index < batches->batches(part); ++index) {
      Take(batches->LoadPart(part, index), samples);
    }
    return samples;
  }

  Region region;
  std::vector<float> values;
  std::unique_ptr<Batches> batches;
};

struct Case {
  const char* name;
  DataSpec spec;
  int64_t tests;
};

std::vector<Case> Cases(int count) {
  return {{"digits", Digits(count, 7), 7},
          {"synthetic", Synthetic(count, 0), 0},
          {"npy", NpyFiles(count), 0},
          {"mnist", MnistFiles(count), 5}};
}

TEST(Validation, TakesTheLastSamplesBeforeTheyAreShuffled) {
  constexpr int kCount = 30;
  for (Case& of : Cases(kCount)) {
    SCOPED_TRACE(of.name);
    of.spec.shuffle = false;
    const Samples all = Reader(of.spec, 1).Epoch();
    ASSERT_EQ(all.size(), static_cast<size_t>(kCount));
    ASSERT_EQ(std::set<Sample>(all.begin(), all.end()).size(), all.size());
    of.spec.shuffle = true;
    for (const double share : {0.1, 0.25, 0.5, 0.9}) {
      of.spec.validation = share;
      const Reader reader(of.spec, 1);
      const auto count = static_cast<size_t>(ValidationSamples(share, kCount));
      ASSERT_EQ(reader.batches->samples(DataPart::kValidation), static_cast<int64_t>(count));
      EXPECT_EQ(reader.Of(DataPart::kValidation), Samples(all.end() - static_cast<int64_t>(count), all.end()));
      Samples trained = reader.Epoch();
      Samples left(all.begin(), all.end() - static_cast<int64_t>(count));
      if (left.size() > 5) {
        EXPECT_NE(trained, left) << "an order of its own";
      }
      std::sort(trained.begin(), trained.end());
      std::sort(left.begin(), left.end());
      EXPECT_EQ(trained, left);
      EXPECT_EQ(reader.batches->samples(DataPart::kTest), of.tests);
      EXPECT_EQ(reader.batches->evaluated(), DataPart::kValidation);
      EXPECT_EQ(reader.batches->tested(), of.tests > 0 ? DataPart::kTest : DataPart::kValidation);
    }
  }
}

TEST(Validation, IsTheSameOnAnyNumberOfRanks) {
  for (Case& of : Cases(50)) {
    SCOPED_TRACE(of.name);
    of.spec.validation = 0.3;
    const Reader whole(of.spec, 10);
    const Samples expected = whole.Of(DataPart::kValidation);
    ASSERT_EQ(expected.size(), 15u);
    for (const int64_t ranks : {2, 3}) {
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const Reader part(of.spec, 10, ranks, rank);
        Samples wanted;
        for (size_t i = 0; i < expected.size(); ++i) {
          const int64_t row = static_cast<int64_t>(i % 10) - part.region.begin[0];
          if (row >= 0 && row < part.region.size[0]) wanted.push_back(expected[i]);
        }
        EXPECT_EQ(part.Of(DataPart::kValidation), wanted) << "rank " << rank << " of " << ranks;
      }
    }
  }
}

// A program that does not train tests what training tested at its end.
TEST(Validation, IsTestedWhereThereIsNoTestPart) {
  DataSpec spec = Synthetic(40, 0);
  spec.validation = 0.25;
  const Reader training(spec, 4);
  spec.only_tests = true;
  const Reader testing(spec, 4);
  EXPECT_EQ(testing.batches->tested(), DataPart::kValidation);
  EXPECT_EQ(testing.Of(testing.batches->tested()), training.Of(DataPart::kValidation));
  spec.validation = 0;
  EXPECT_EQ(Reader(spec, 4).batches->samples(Reader(spec, 4).batches->tested()), 40);
}

// The bytes that windows of each part cover, where byte i of the text is i.
TEST(Validation, WindowsOfATextShareNoByteWithThoseThatTrain) {
  const auto seed = static_cast<unsigned>(std::random_device()());
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const int64_t length = std::uniform_int_distribution<int64_t>(1, 9)(random);
    const int size = std::uniform_int_distribution<int>(60, 250)(random);
    const double share = std::uniform_real_distribution<double>(0.2, 0.7)(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", windows of " + std::to_string(length) + " in " +
                 std::to_string(size) + " bytes, share " + std::to_string(share));
    std::string text;
    for (int i = 0; i < size; ++i) text += static_cast<char>(i);
    DataSpec spec = Tokens(Write("text", text));
    spec.validation = share;
    std::vector<int32_t> tokens(static_cast<size_t>(length)), next(tokens.size());
    Result<std::unique_ptr<Batches>> opened = Batches::Open(spec,
                                                            {{"tokens", WholeRegion({1, length}), tokens.data(), 256},
                                                             {"next", WholeRegion({1, length}), next.data(), 256}},
                                                            1);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Batches& batches = *opened.value();
    std::set<int32_t> trained, validation, tested;
    const auto take = [&](std::set<int32_t>& bytes) {
      bytes.insert(tokens.begin(), tokens.end());
      bytes.insert(next.begin(), next.end());
    };
    for (int64_t step = 0; step < batches.steps_per_epoch(); ++step) {
      batches.LoadTraining(step);
      take(trained);
    }
    for (int64_t i = 0; i < batches.batches(DataPart::kValidation); ++i) {
      batches.LoadPart(DataPart::kValidation, i);
      take(validation);
    }
    for (int64_t i = 0; i < batches.batches(DataPart::kTest); ++i) {
      batches.LoadPart(DataPart::kTest, i);
      take(tested);
    }
    ASSERT_FALSE(validation.empty());
    EXPECT_LT(*trained.rbegin(), *validation.begin());
    EXPECT_EQ(*trained.rbegin() + 1, *validation.begin()) << "a byte is lost";
    EXPECT_LT(*validation.rbegin(), size - size / 10);
    if (!tested.empty()) {
      EXPECT_EQ(*tested.begin(), size - size / 10);
    }
  }
}

std::string Mistake(DataSpec spec, double share, int64_t batch) {
  spec.validation = share;
  std::vector<float> values(static_cast<size_t>(batch * 784));
  const auto opened = Batches::Open(spec, {{"image", WholeRegion({batch, 784}), values.data()}}, 3);
  return opened.ok() ? "no error" : opened.error().message;
}

TEST(Validation, BothSidesNeedABatch) {
  EXPECT_EQ(Mistake(Digits(100, 0), 0.1, 10), "no error");
  EXPECT_EQ(Mistake(Digits(100, 0), 0.9, 10), "no error");
  EXPECT_EQ(Mistake(Digits(100, 0), 0.09, 10),
            "digits has 9 validation samples, a share of 0.09, fewer than one batch of 10");
  EXPECT_EQ(Mistake(Digits(100, 0), 0.001, 1),
            "digits has 0 validation samples, a share of 0.001, fewer than one batch of 1");
  EXPECT_EQ(Mistake(Digits(100, 0), 0.95, 10),
            "digits has 5 training samples when a share of 0.95 is set aside for validation, fewer than one batch of "
            "10");
}

TEST(Validation, SharesAreRoundedToTheNearest) {
  EXPECT_EQ(ValidationSamples(0.1, 1000), 100);
  EXPECT_EQ(ValidationSamples(0.29, 100), 29);  // 28.999999999999996 as a product.
  EXPECT_EQ(ValidationSamples(0.5, 3), 2);
  EXPECT_EQ(ValidationSamples(0, 3), 0);
}

}  // namespace
}  // namespace cleave::runtime
