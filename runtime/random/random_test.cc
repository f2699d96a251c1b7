#include "runtime/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace cleave::runtime {
namespace {

// From Random123's kat_vectors.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

using Fill = void (*)(const Stream&, const Region&, float*);
void Uniform(const Stream& stream, const Region& region, float* values) { FillUniform(stream, region, -2, 3, values); }
void Normal(const Stream& stream, const Region& region, float* values) { FillNormal(stream, region, 1, 2, values); }

std::vector<float> Filled(Fill fill, const Stream& stream, const Region& region) {
  std::vector<float> values(static_cast<size_t>(ElementCount(region.size)));
  fill(stream, region, values.data());
  return values;
}

TEST(Fill, AnyCutGivesTheSameNumbers) {
  const unsigned seed = 5;
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    Region region;
    for (size_t rank = random() % 4; rank > 0; --rank) {
      const int64_t size = 1 + static_cast<int64_t>(random() % 9);
      const int64_t pieces = 1 + static_cast<int64_t>(random() % 4);
      const Range piece = Piece(size, pieces, static_cast<int64_t>(random() % static_cast<unsigned>(pieces)));
      region.shape.push_back(size);
      region.begin.push_back(piece.begin);
      region.size.push_back(piece.size);
    }
    for (const Fill fill : {Uniform, Normal}) {
      const std::vector<float> whole = Filled(fill, {7, "w"}, WholeRegion(region.shape));
      const std::vector<float> piece = Filled(fill, {7, "w"}, region);
      ForEachRun(region, [&](int64_t global, int64_t local, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          EXPECT_EQ(piece[static_cast<size_t>(local + i)], whole[static_cast<size_t>(global + i)]);
        }
      });
    }
  }
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double least = 0;
  double most = 0;
};
Moments MomentsOf(const std::vector<float>& values) {
  Moments moments;
  double square = 0;
  for (float value : values) {
    moments.mean += value;
    square += static_cast<double>(value) * value;
  }
  const double count = static_cast<double>(values.size());
  moments.mean /= count;
  moments.deviation = std::sqrt(square / count - moments.mean * moments.mean);
  moments.least = *std::min_element(values.begin(), values.end());
  moments.most = *std::max_element(values.begin(), values.end());
  return moments;
}

TEST(Fill, ElementsBeyond32BitsHaveNumbersOfTheirOwn) {
  constexpr int64_t kRow = int64_t{1} << 20;
  const Region piece = {{kRow, kRow}, {kRow / 2 + 3, 5}, {1, 6}};
  const int64_t first = (kRow / 2 + 3) * kRow + 5;
  const std::vector<float> values = Filled(Uniform, {7, "w"}, piece);
  EXPECT_EQ(values, Filled(Uniform, {7, "w"}, {{kRow * kRow}, {first}, {6}}));
  EXPECT_NE(values, Filled(Uniform, {7, "w"}, {{kRow * kRow}, {first % (int64_t{1} << 32)}, {6}}));
  EXPECT_EQ(values[0], -2 + 5 * UnitFloat(StreamWords({7, "w"}).Block(static_cast<uint64_t>(first) / 4)[1]));
}

TEST(Fill, HasTheMomentsOfItsDistribution) {
  // With a million values the deviation of their mean is a thousandth of their own; five times that is allowed.
  const Region region = WholeRegion({1000, 1000});
  const Moments uniform = MomentsOf(Filled(Uniform, {1, "u"}, region));
  EXPECT_NEAR(uniform.mean, 0.5, 5 * 1.4434e-3);
  EXPECT_NEAR(uniform.deviation, 5 / std::sqrt(12), 3e-3);
  EXPECT_GE(uniform.least, -2);
  EXPECT_LT(uniform.most, 3);
  const Moments normal = MomentsOf(Filled(Normal, {1, "n"}, region));
  EXPECT_NEAR(normal.mean, 1, 5 * 2e-3);
  EXPECT_NEAR(normal.deviation, 2, 1e-2);
  EXPECT_GT(normal.most, 1 + 2 * 4);
  EXPECT_LT(normal.most, 1 + 2 * 7);
}

TEST(Fill, SeedNameAndStepAllMatter) {
  const Region region = WholeRegion({64});
  const std::vector<float> base = Filled(Uniform, {1, "w", 0}, region);
  for (const Stream& other : {Stream{2, "w", 0}, Stream{1, "v", 0}, Stream{1, "w", 1}}) {
    const std::vector<float> values = Filled(Uniform, other, region);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NE(values[i], base[i]);
  }
}

// The numbers of a seed must not change from one version to the next, because saved runs are compared by them.
TEST(Fill, StaysAsItIs) {
  const std::vector<float> values = Filled(Uniform, {1, "h1.weight"}, WholeRegion({4}));
  const std::vector<float> normals = Filled(Normal, {1, "h1.weight"}, WholeRegion({4}));
  const float uniform_goldens[] = {-0.957774639f, -1.27181387f, 1.57802105f, -0.298914671f};
  const float normal_goldens[] = {3.15959668f, 3.80727243f, 0.121417418f, 2.38025975f};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(values[i], uniform_goldens[i]);
    EXPECT_FLOAT_EQ(normals[i], normal_goldens[i]);
  }
}

TEST(FillIntegers, CoversItsRangeEvenly) {
  std::vector<int32_t> values(70000);
  FillIntegers({3, "labels"}, WholeRegion({70000}), 7, values.data());
  std::vector<int> count(7);
  for (int32_t value : values) {
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 7);
    ++count[static_cast<size_t>(value)];
  }
  for (int each : count) EXPECT_NEAR(each, 10000, 500);
}

TEST(FillConstant, FillsThePiece) {
  std::vector<float> values(7, 0.0f);
  FillConstant({{4, 4}, {1, 0}, {2, 3}}, 2.5f, values.data());
  EXPECT_EQ(values, (std::vector<float>{2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 0.0f}));
}

TEST(Permutation, HoldsEveryNumberOnceAndDependsOnTheStream) {
  const std::vector<int64_t> order = Permutation({1, "order", 0}, 1000);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(sorted[static_cast<size_t>(i)], i);
  EXPECT_EQ(order, Permutation({1, "order", 0}, 1000));
  EXPECT_NE(order, Permutation({1, "order", 1}, 1000));
  EXPECT_NE(order, sorted);
  EXPECT_TRUE(Permutation({1, "order", 0}, 0).empty());
}

TEST(Permutation, EveryOrderIsAboutAsLikely) {
  int count[6] = {};
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    const std::vector<int64_t> order = Permutation({seed, "order"}, 3);
    ++count[order[0] * 2 + (order[1] > order[2] ? 1 : 0)];
  }
  for (int each : count) EXPECT_NEAR(each, 1000, 150);
}

}  // namespace
}  // namespace cleave::runtime
