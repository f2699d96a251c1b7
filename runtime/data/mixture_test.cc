#include "runtime/data/mixture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/custom/view.h"
#include "runtime/data/custom.h"
#include "runtime/data/interleave.h"
#include "runtime/data/testing.h"
#include "runtime/data/tokens.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Samples that say where they are from: 1000 and more, 2000 and more; those for testing are negative.
void First(int64_t sample, bool is_test, View<int32_t> values) {
  values[0] = static_cast<int32_t>(is_test ? -1000 - sample : 1000 + sample);
}
void Second(int64_t sample, bool is_test, View<int32_t> values) {
  values[0] = static_cast<int32_t>(is_test ? -2000 - sample : 2000 + sample);
}

DataSpec Parts(int64_t first, int64_t second, std::vector<double> weights) {
  return Mix({CustomSamples({{"x", First}}, first, 3), CustomSamples({{"x", Second}}, second, 2)}, std::move(weights));
}

struct MixtureReader {
  explicit MixtureReader(const DataSpec& spec, int64_t batch = 4, uint64_t seed = 1)
      : values(static_cast<size_t>(batch)),
        batches(std::move(Batches::Open(spec, {{"x", WholeRegion({batch, 1}), values.data()}}, seed).value())) {}

  std::vector<int32_t> Step(int64_t step) {
    batches->LoadTraining(step);
    return values;
  }

  std::vector<int32_t> Epoch(int64_t epoch) {
    std::vector<int32_t> all;
    for (int64_t step = 0; step < batches->steps_per_epoch(); ++step) {
      const std::vector<int32_t> own = Step(epoch * batches->steps_per_epoch() + step);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  std::vector<int32_t> values;
  std::unique_ptr<Batches> batches;
};

// Of 40 samples 30 are from the first part, which has 10, and 10 from the second, which has 30: in one epoch the first
// is read three times, and in three epochs the second once.
TEST(Mixture, EachPartIsReadInEpochsOfItsOwn) {
  for (const bool shuffle : {false, true}) {
    DataSpec spec = Parts(10, 30, {3, 1});
    spec.shuffle = shuffle;
    MixtureReader reader(spec);
    EXPECT_EQ(reader.batches->train_samples(), 40);
    EXPECT_EQ(reader.batches->note(), "mix: an epoch has 30 of 10, 10 of 30 samples");
    std::map<int32_t, int> times;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      int of_second = 0;
      for (const int32_t value : reader.Epoch(epoch)) {
        ++times[value];
        of_second += value >= 2000 ? 1 : 0;
      }
      EXPECT_EQ(of_second, 10);
    }
    EXPECT_EQ(times.size(), 40u);
    for (const auto& [value, count] : times) EXPECT_EQ(count, value < 2000 ? 9 : 1) << value;
    const auto sorted = [](std::vector<int32_t> values) {
      return std::multiset<int32_t>(values.begin(), values.end());
    };
    EXPECT_EQ(reader.Epoch(0) == reader.Epoch(3), !shuffle) << "the second part begins anew, in another order";
    EXPECT_EQ(sorted(reader.Epoch(0)) == sorted(reader.Epoch(3)), !shuffle);
  }
}

TEST(Mixture, SharesThatDoNotDivideAnEpoch) {
  DataSpec spec = Parts(7, 6, {0.9, 0.1});
  spec.shuffle = false;
  MixtureReader reader(spec, 13);
  EXPECT_EQ(reader.batches->note(), "mix: an epoch has 12 of 7, 1 of 6 samples");
  EXPECT_EQ(reader.Step(0),
            (std::vector<int32_t>{1000, 1001, 1002, 1003, 1004, 1005, 2000, 1006, 1000, 1001, 1002, 1003, 1004}));
  EXPECT_EQ(reader.Step(1),
            (std::vector<int32_t>{1005, 1006, 1000, 1001, 1002, 1003, 2001, 1004, 1005, 1006, 1000, 1001, 1002}));
}

// Training that goes on at any step, on ranks with any piece of the batch, reads what it would have read.
TEST(Mixture, TheOrderIsAFunctionOfTheSeedAndTheEpoch) {
  const DataSpec spec = Parts(11, 5, {0.3, 0.7});
  MixtureReader whole(spec);
  std::map<int64_t, std::vector<int32_t>> steps;
  for (int64_t step = 0; step < 12; ++step) steps[step] = whole.Step(step);
  for (const int64_t begin : {11, 3, 4, 8}) {
    MixtureReader resumed(spec);
    for (int64_t step = begin; step < 12; ++step) EXPECT_EQ(resumed.Step(step), steps[step]) << begin;
    EXPECT_EQ(whole.Step(begin), steps[begin]);
  }
  int32_t piece[2];
  const auto part = Batches::Open(spec, {{"x", {{4, 1}, {2, 0}, {2, 1}}, piece}}, 1);
  for (int64_t step = 0; step < 12; ++step) {
    part.value()->LoadTraining(step);
    EXPECT_EQ(piece[0], steps[step][2]);
    EXPECT_EQ(piece[1], steps[step][3]);
  }
  EXPECT_NE(MixtureReader(spec, 4, 2).Step(0), steps[0]);
}

TEST(Mixture, WhatIsEvaluatedIsThatOfAllParts) {
  DataSpec spec = Parts(10, 20, {0.9, 0.1});
  spec.validation = 0.2;
  MixtureReader reader(spec, 2);
  EXPECT_EQ(reader.batches->train_samples(), 24);
  EXPECT_EQ(reader.batches->samples(DataPart::kValidation), 6);
  const auto all = [&](DataPart part) {
    std::vector<int32_t> values;
    for (int64_t index = 0; index < reader.batches->batches(part); ++index) {
      const int64_t count = reader.batches->LoadPart(part, index);
      values.insert(values.end(), reader.values.begin(), reader.values.begin() + count);
    }
    return values;
  };
  EXPECT_EQ(all(DataPart::kValidation), (std::vector<int32_t>{1008, 1009, 2016, 2017, 2018, 2019}));
  EXPECT_EQ(all(DataPart::kTest), (std::vector<int32_t>{-1000, -1001, -1002, -2000, -2001}));
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (const int32_t value : reader.Epoch(epoch)) {
      EXPECT_TRUE(value < 1008 || (value >= 2000 && value < 2016)) << value;
    }
  }
}

TEST(Mixture, PartsThatDoNotFit) {
  EXPECT_EQ(
      MistakeOf(Batches::Open(Parts(0, 8, {1, 1}), {{"y", WholeRegion({2, 1}), static_cast<float*>(nullptr)}}, 1), "#"),
      "input `y` is f32[2, 1], and `x` makes i32\nerror: input `y` is f32[2, 1], and `x` makes i32");
  int32_t values[2];
  EXPECT_EQ(MistakeOf(Batches::Open(Parts(0, 8, {1, 1}), {{"x", WholeRegion({2, 1}), values}}, 1), "#"),
            "custom of `mix` has no training samples");
  const std::string path = testing::TempDir() + "/mixed_text";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fputs("so many words, so few symbols", file);
  std::fclose(file);
  int32_t tokens[8];
  const auto open = [&](int64_t symbols) {
    return MistakeOf(
        Batches::Open(Mix({Tokens(path), Tokens(path)}, {1, 2}), {{"tokens", WholeRegion({2, 4}), tokens, symbols}}, 1),
        path);
  };
  EXPECT_EQ(open(256), "no error");
  EXPECT_EQ(
      open(30),
      "the bytes of `` are numbered for a vocabulary of 30 symbols, in each text in another way: texts that are "
      "mixed need one of 256\nerror: the bytes of `` are numbered for a vocabulary of 30 symbols, in each text in "
      "another way: texts that are mixed need one of 256");
}

TEST(Mixture, RowsTakeTurns) {
  EXPECT_EQ(Interleaved({2, 4, 1}), (std::vector<uint32_t>{1, 0, 1, 2, 1, 0, 1}));
  EXPECT_EQ(Interleaved({0, 3}), (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(Interleaved({}), std::vector<uint32_t>());
}

}  // namespace
}  // namespace cleave::runtime
