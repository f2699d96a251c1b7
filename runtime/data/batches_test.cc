#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "runtime/custom/view.h"
#include "runtime/data/custom.h"
#include "runtime/data/data.h"
#include "runtime/data/digits.h"
#include "runtime/data/synthetic.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Inputs of a digits model, cut by `pieces`, and the values of one rank.
struct Reader {
  Reader(const DataSpec& spec, int64_t batch, std::vector<int64_t> pieces, std::vector<int64_t> indices,
         uint64_t seed = 3) {
    image_region = WholeRegion({batch, 28, 28});
    for (size_t d = 0; d < pieces.size(); ++d) {
      const Range piece = Piece(image_region.shape[d], pieces[d], indices[d]);
      image_region.begin[d] = piece.begin;
      image_region.size[d] = piece.size;
    }
    Region label_region = {{batch}, {image_region.begin[0]}, {image_region.size[0]}};
    image.assign(static_cast<size_t>(ElementCount(image_region.size)), -99);
    label.assign(static_cast<size_t>(image_region.size[0]), -99);
    mask.assign(label.size(), -99);
    Result<std::unique_ptr<Batches>> opened = Batches::Open(spec,
                                                            {{"image", image_region, image.data()},
                                                             {"label", label_region, label.data(), 10},
                                                             {kSampleMask, label_region, mask.data()}},
                                                            seed);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    batches = std::move(opened.value());
  }

  Region image_region;
  std::vector<float> image;
  std::vector<int32_t> label;
  std::vector<float> mask;
  std::unique_ptr<Batches> batches;
};

TEST(Batches, EveryCutReadsExactlyItsPieceOfTheSameBatch) {
  const DataSpec spec = Digits(50, 25);
  Reader whole(spec, 10, {1, 1, 1}, {0, 0, 0});
  for (const std::vector<int64_t>& pieces :
       {std::vector<int64_t>{3, 1, 1}, {1, 3, 1}, {1, 1, 5}, {2, 3, 2}, {12, 1, 1}}) {
    for (int64_t a = 0; a < pieces[0]; ++a) {
      for (int64_t b = 0; b < pieces[1]; ++b) {
        for (int64_t c = 0; c < pieces[2]; ++c) {
          Reader part(spec, 10, pieces, {a, b, c});
          for (const int64_t step : {0, 4, 7}) {
            whole.batches->LoadTraining(step);
            part.batches->LoadTraining(step);
            ForEachRun(part.image_region, [&](int64_t global, int64_t local, int64_t count) {
              for (int64_t i = 0; i < count; ++i) {
                ASSERT_EQ(part.image[static_cast<size_t>(local + i)], whole.image[static_cast<size_t>(global + i)]);
              }
            });
            for (size_t row = 0; row < part.label.size(); ++row) {
              EXPECT_EQ(part.label[row], whole.label[row + static_cast<size_t>(part.image_region.begin[0])]);
            }
          }
        }
      }
    }
  }
}

// A sample is known by its pixels.
using Sample = std::vector<float>;
std::multiset<Sample> EpochSamples(Reader& reader, int64_t epoch) {
  std::multiset<Sample> samples;
  for (int64_t i = 0; i < reader.batches->steps_per_epoch(); ++i) {
    reader.batches->LoadTraining(epoch * reader.batches->steps_per_epoch() + i);
    for (size_t row = 0; row < reader.label.size(); ++row) {
      samples.emplace(reader.image.begin() + static_cast<int64_t>(row) * 784,
                      reader.image.begin() + static_cast<int64_t>(row + 1) * 784);
    }
  }
  return samples;
}

// A rank has a piece of an input for each micro-batch.
TEST(Batches, PiecesOfOneInputHaveItsField) {
  std::vector<float> image(4 * 784);
  std::vector<int32_t> first(2), second(3);
  const auto region = [](int64_t begin, int64_t size) { return Region{{10}, {begin}, {size}}; };
  Result<std::unique_ptr<Batches>> opened =
      Batches::Open(Digits(50, 25),
                    {{"label", region(1, 2), first.data(), 10},
                     {"image", Region{{10, 1, 28, 28}, {0, 0, 0, 0}, {4, 1, 28, 28}}, image.data()},
                     {"label", region(7, 3), second.data(), 10}},
                    3);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  opened.value()->LoadTraining(2);
  Reader whole(Digits(50, 25), 10, {1, 1, 1}, {0, 0, 0});
  whole.batches->LoadTraining(2);
  EXPECT_EQ(first, std::vector<int32_t>(whole.label.begin() + 1, whole.label.begin() + 3));
  EXPECT_EQ(second, std::vector<int32_t>(whole.label.begin() + 7, whole.label.end()));
}

TEST(Batches, AnEpochReadsEverySampleOnceInAnOrderOfItsOwn) {
  Reader reader(Digits(40, 0), 10, {1, 1, 1}, {0, 0, 0});
  const std::multiset<Sample> first = EpochSamples(reader, 0);
  EXPECT_EQ(std::set<Sample>(first.begin(), first.end()).size(), 40u);
  EXPECT_EQ(EpochSamples(reader, 1), first);
  reader.batches->LoadTraining(0);
  const Sample batch0 = reader.image;
  reader.batches->LoadTraining(4);
  EXPECT_NE(reader.image, batch0);
  reader.batches->LoadTraining(0);
  EXPECT_EQ(reader.image, batch0);
}

TEST(Batches, WithoutShufflingEveryEpochReadsTheSamplesInTheirOrder) {
  DataSpec spec = Digits(25, 0);
  Reader shuffled(spec, 25, {1, 1, 1}, {0, 0, 0});
  spec.shuffle = false;
  Reader in_order(spec, 25, {1, 1, 1}, {0, 0, 0});
  shuffled.batches->LoadTraining(0);
  in_order.batches->LoadTraining(0);
  EXPECT_NE(shuffled.label, in_order.label);
  Reader part(spec, 10, {2, 1, 1}, {1, 0, 0});
  for (const int64_t step : {0, 1, 2, 3}) {
    part.batches->LoadTraining(step);
    const auto begin = in_order.label.begin() + step % 2 * 10 + 5;
    EXPECT_EQ(part.label, std::vector<int32_t>(begin, begin + 5)) << step;
  }
}

TEST(Batches, TrainingDropsTheLastIncompleteBatch) {
  Reader reader(Digits(45, 0), 10, {1, 1, 1}, {0, 0, 0});
  EXPECT_EQ(reader.batches->steps_per_epoch(), 4);
  EXPECT_EQ(reader.batches->batches(DataPart::kTest), 0);
  reader.batches->LoadTraining(4);
  EXPECT_EQ(reader.mask, std::vector<float>(10, 1.0f));
}

TEST(Batches, TestingMasksThePaddingOfTheLastBatch) {
  const DataSpec spec = Digits(20, 23);
  Reader first_half(spec, 10, {2, 1, 1}, {0, 0, 0});
  Reader second_half(spec, 10, {2, 1, 1}, {1, 0, 0});
  ASSERT_EQ(first_half.batches->batches(DataPart::kTest), 3);
  EXPECT_EQ(first_half.batches->LoadPart(DataPart::kTest, 1), 10);
  EXPECT_EQ(first_half.mask, std::vector<float>(5, 1.0f));
  EXPECT_EQ(first_half.batches->LoadPart(DataPart::kTest, 2), 3);
  EXPECT_EQ(second_half.batches->LoadPart(DataPart::kTest, 2), 3);
  EXPECT_EQ(first_half.mask, (std::vector<float>{1, 1, 1, 0, 0}));
  EXPECT_EQ(second_half.mask, std::vector<float>(5, 0.0f));
  for (int32_t label : second_half.label) EXPECT_TRUE(label >= 0 && label < 10);
}

TEST(Digits, HasAllClassesAndDependsOnTheSeed) {
  Reader one(Digits(1000, 0), 1000, {1, 1, 1}, {0, 0, 0}, 1);
  Reader two(Digits(1000, 0), 1000, {1, 1, 1}, {0, 0, 0}, 2);
  one.batches->LoadTraining(0);
  two.batches->LoadTraining(0);
  EXPECT_NE(one.image, two.image);
  for (int32_t digit = 0; digit < 10; ++digit)
    EXPECT_NEAR(std::count(one.label.begin(), one.label.end(), digit), 100, 40);
  // Most of a page is empty, some of it is not.
  const auto ink = std::count_if(one.image.begin(), one.image.end(), [](float pixel) { return pixel > 1.5f; });
  EXPECT_GT(ink, 1000 * 784 / 50);
  EXPECT_LT(ink, 1000 * 784 / 5);
}

// The sum of all pixels, as GCC and Clang both draw them.
TEST(Digits, DoNotDependOnTheCompiler) {
  Reader reader(Digits(1000, 0), 1000, {1, 1, 1}, {0, 0, 0}, 1);
  reader.batches->LoadTraining(0);
  int64_t sum = 0;
  for (const float value : reader.image) sum += static_cast<int64_t>((value * 0.3081f + 0.1307f) * 255 + 0.5f);
  EXPECT_EQ(sum, 18849034);
}

// What has been prepared, in part or in whole, is what loading alone would have drawn.
TEST(Digits, AreTheSameWhenTheyArePrepared) {
  for (int64_t steps : {1, 3, 5}) {
    Reader loaded(Digits(50, 25), 10, {2, 1, 1}, {1, 0, 0});
    Reader prepared(Digits(50, 25), 10, {2, 1, 1}, {1, 0, 0});
    prepared.batches->PrepareTraining(0, steps);
    prepared.batches->PreparePart(DataPart::kTest, 3);
    for (int64_t step = 0; step < 7; ++step) {
      loaded.batches->LoadTraining(step);
      prepared.batches->LoadTraining(step);
      EXPECT_EQ(loaded.image, prepared.image) << step;
      EXPECT_EQ(loaded.label, prepared.label) << step;
    }
    for (int64_t index = 0; index < 3; ++index) {
      EXPECT_EQ(loaded.batches->LoadPart(DataPart::kTest, index), prepared.batches->LoadPart(DataPart::kTest, index));
      EXPECT_EQ(loaded.image, prepared.image) << index;
    }
  }
}

std::string OpenMistake(const DataSpec& spec, std::vector<ModelInput> inputs) {
  const Result<std::unique_ptr<Batches>> result = Batches::Open(spec, std::move(inputs), 1);
  return result.ok() ? "no error" : result.error().message;
}

TEST(Batches, InputsThatDoNotFitTheSource) {
  std::vector<float> floats(10);
  std::vector<int32_t> integers(10);
  const ModelInput image = {"image", WholeRegion({2, 784}), floats.data()};
  EXPECT_EQ(OpenMistake(Digits(10, 0), {}), "the model has no inputs");
  EXPECT_EQ(OpenMistake(Digits(10, 0), {{"x", WholeRegion({}), floats.data()}}),
            "input `x` is f32[]; the first dimension of every input is the batch, and it has none");
  EXPECT_EQ(OpenMistake(Digits(10, 0), {image, {"label", WholeRegion({3}), integers.data()}}),
            "input `label` is i32[3]; the first dimension of every input is the batch, 2");
  EXPECT_EQ(
      OpenMistake(Digits(10, 0),
                  {image, {"label", WholeRegion({2}), integers.data()}, {"more", WholeRegion({2}), floats.data()}}),
      "the model has 3 inputs (`image`, `label`, `more`), and digits offers 2: `image`, `label`");
  EXPECT_EQ(OpenMistake(Digits(10, 0), {{"image", WholeRegion({2, 784}), integers.data()}}),
            "input `image` is i32[2, 784]; the images of digits are f32");
  EXPECT_EQ(OpenMistake(Digits(10, 0), {image, {"label", WholeRegion({2, 10}), integers.data()}}),
            "input `label` is i32[2, 10], 10 values per sample; digits has one label per sample");
  EXPECT_EQ(OpenMistake(Digits(10, 0), {image, {"label", WholeRegion({2}), integers.data(), 5}}),
            "input `label` is i32[2] with 5 classes; digits has 10");
  EXPECT_EQ(OpenMistake(Digits(1, 0), {image}), "digits has 1 training samples, fewer than one batch of 2");
}

TEST(Batches, InputsAreMatchedByNameOrElseInOrder) {
  std::vector<float> image(2 * 784);
  std::vector<float> label(2);
  const ModelInput image_input = {"image", WholeRegion({2, 784}), image.data()};
  EXPECT_EQ(OpenMistake(Digits(10, 0), {{"label", WholeRegion({2, 1}), label.data()}, image_input}), "no error");
  EXPECT_EQ(
      OpenMistake(Digits(10, 0), {{"x", WholeRegion({2, 784}), image.data()}, {"y", WholeRegion({2}), label.data()}}),
      "no error");
  EXPECT_NE(
      OpenMistake(Digits(10, 0), {{"y", WholeRegion({2}), label.data()}, {"x", WholeRegion({2, 784}), image.data()}}),
      "no error");
}

TEST(Synthetic, TargetsFollowFromTheInput) {
  std::vector<float> x(64 * 20);
  std::vector<float> y(64 * 3);
  std::vector<int32_t> label(64);
  auto batches = Batches::Open(Synthetic(256, 64),
                               {{"x", WholeRegion({64, 20}), x.data()},
                                {"y", WholeRegion({64, 3}), y.data()},
                                {"c", WholeRegion({64}), label.data(), 4}},
                               1);
  ASSERT_TRUE(batches.ok());
  batches.value()->LoadTraining(0);
  double square = 0;
  for (float value : x) square += value * value;
  EXPECT_NEAR(square / static_cast<double>(x.size()), 1, 0.15);
  EXPECT_NE(std::count(label.begin(), label.end(), label[0]), 64);
  for (int32_t value : label) EXPECT_TRUE(value >= 0 && value < 4);
  for (float value : y) EXPECT_LE(std::abs(value), 1);
  const std::vector<float> first_y = y;
  batches.value()->LoadPart(DataPart::kTest, 0);
  EXPECT_NE(y, first_y);
  batches.value()->LoadTraining(0);
  EXPECT_EQ(y, first_y);
}

TEST(Synthetic, LargeInputsAreMadeOnTheWayAndAreTheSameNumbers) {
  constexpr int64_t kElements = 1 << 20;
  std::vector<float> kept_x(2 * kElements);
  std::vector<float> made_x(2 * kElements);
  auto kept = Batches::Open(Synthetic(2, 0), {{"x", WholeRegion({2, kElements}), kept_x.data()}}, 1);
  auto made = Batches::Open(Synthetic(2, 100), {{"x", WholeRegion({2, kElements}), made_x.data()}}, 1);
  ASSERT_TRUE(kept.ok() && made.ok());
  EXPECT_EQ(kept.value()->bytes(), 2 * kElements * 4);
  EXPECT_EQ(made.value()->bytes(), 0);
  kept.value()->LoadTraining(0);
  made.value()->LoadTraining(0);
  EXPECT_EQ(kept_x, made_x);
}

TEST(Synthetic, TokensHaveAMapOfSymbols) {
  std::vector<int32_t> tokens(4 * 8);
  std::vector<int32_t> next(4 * 8);
  auto batches = Batches::Open(
      Synthetic(16, 0),
      {{"tokens", WholeRegion({4, 8}), tokens.data(), 11}, {"next", WholeRegion({4, 8}), next.data(), 11}}, 1);
  ASSERT_TRUE(batches.ok());
  batches.value()->LoadTraining(1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(tokens[i] >= 0 && tokens[i] < 11);
    EXPECT_EQ(next[i], (5 * tokens[i] + 3) % 11);
  }
}

TEST(Synthetic, NumbersFollowFromTokens) {
  std::vector<int32_t> tokens(4 * 8);
  std::vector<float> mask(4 * 3);
  auto batches = Batches::Open(
      Synthetic(16, 4),
      {{"tokens", WholeRegion({4, 8}), tokens.data(), 11}, {"mask", WholeRegion({4, 3}), mask.data()}}, 1);
  ASSERT_TRUE(batches.ok());
  batches.value()->LoadTraining(0);
  const std::vector<float> first = mask;
  for (const float value : mask) EXPECT_LT(std::abs(value), 1);
  EXPECT_GT(*std::max_element(mask.begin(), mask.end()), 0);
  EXPECT_LT(*std::min_element(mask.begin(), mask.end()), 0);
  batches.value()->LoadTraining(1);
  EXPECT_NE(mask, first);
  batches.value()->LoadTraining(0);
  EXPECT_EQ(mask, first);
}

// Every third sample from the fourth on has a label that the model does not have.
void Number(int64_t sample, bool, View<int32_t> values) {
  values[0] = static_cast<int32_t>(sample >= 3 && sample % 3 == 0 ? -sample : sample);
}

TEST(Batches, AnyThreadReadsAPartOfABatch) {
  constexpr int64_t kBatch = 40'000;  // Several threads' worth.
  DataSpec spec = CustomSamples({{"x", Number}}, 2 * kBatch, 0);
  std::vector<int32_t> alone(kBatch), together(kBatch);
  const auto open = [&](std::vector<int32_t>& values, int64_t limit) {
    return std::move(Batches::Open(spec, {{"x", WholeRegion({kBatch}), values.data(), limit}}, 1).value());
  };
  const auto one = open(alone, 0), shared = open(together, 0);
  EXPECT_TRUE(shared->ReadsSlowly());
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    while (!is_over) shared->ReadSome();
  });
  for (int64_t step = 0; step < 20; ++step) {
    one->LoadTraining(step);
    shared->BeginTraining(step);
    EXPECT_FALSE(shared->Finish().has_value());
    EXPECT_EQ(alone, together) << step;
  }
  is_over = true;
  reader.join();
  // Where several rows are wrong, the first is named, whoever reads it.
  spec.shuffle = false;
  const auto wrong = open(together, kBatch);
  wrong->BeginTraining(0);
  while (wrong->ReadSome()) {
  }
  EXPECT_EQ(wrong->Finish()->message,
            "value -3 that `x` gives for training sample 3 is out of range: the model has 40000 classes");
}

}  // namespace
}  // namespace cleave::runtime
