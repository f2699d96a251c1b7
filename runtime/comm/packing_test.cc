#include "runtime/comm/packing.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace cleave::runtime {
namespace {

TEST(OneDimension, SplitsAShape) {
  const OneDimension view({2, 3, 4, 5}, 1);
  EXPECT_EQ(view.outer, 2);
  EXPECT_EQ(view.size, 3);
  EXPECT_EQ(view.inner, 20);
}

TEST(TwoDimensions, PacksABoxAndUnpacksItWhereItWas) {
  std::vector<int32_t> tensor(2 * 3 * 2 * 4 * 2);
  std::iota(tensor.begin(), tensor.end(), 0);
  const TwoDimensions view({2, 3, 2, 4, 2}, 1, 3);
  const Box box = {{1, 2}, {1, 3}};
  ASSERT_EQ(view.Elements(box), 2 * 2 * 2 * 3 * 2);
  std::vector<int32_t> packed(static_cast<size_t>(view.Elements(box)));
  view.Pack(reinterpret_cast<const std::byte*>(tensor.data()), box, sizeof(int32_t),
            reinterpret_cast<std::byte*>(packed.data()));
  size_t next = 0;
  std::vector<int32_t> expected(tensor.size(), -1);
  for (int a = 0; a < 2; ++a) {
    for (int b = 1; b < 3; ++b) {
      for (int c = 0; c < 2; ++c) {
        for (int d = 1; d < 4; ++d) {
          for (int e = 0; e < 2; ++e) {
            const size_t at = static_cast<size_t>((((a * 3 + b) * 2 + c) * 4 + d) * 2 + e);
            EXPECT_EQ(packed[next++], tensor[at]);
            expected[at] = tensor[at];
          }
        }
      }
    }
  }
  std::vector<int32_t> target(tensor.size(), -1);
  view.Unpack(reinterpret_cast<const std::byte*>(packed.data()), box, sizeof(int32_t),
              reinterpret_cast<std::byte*>(target.data()));
  EXPECT_EQ(target, expected);
}

TEST(Pack, RegionsOfAnyShapeAgainstTheirRuns) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    Region region;
    for (size_t i = 0; i < random() % 5; ++i) {
      region.shape.push_back(static_cast<int64_t>(random() % 5));
      const int64_t begin = static_cast<int64_t>(random() % static_cast<unsigned>(region.shape[i] + 1));
      region.begin.push_back(random() % 2 == 0 ? 0 : begin);
      const int64_t rest = region.shape[i] - region.begin[i];
      region.size.push_back(random() % 2 == 0 ? rest
                                              : static_cast<int64_t>(random() % static_cast<unsigned>(rest + 1)));
    }
    std::vector<int16_t> tensor(static_cast<size_t>(ElementCount(region.shape)));
    std::iota(tensor.begin(), tensor.end(), int16_t{1});
    std::vector<int16_t> expected;
    std::vector<int16_t> expected_back(tensor.size(), 0);
    ForEachRun(region, [&](int64_t at, int64_t, int64_t count) {
      for (int64_t i = at; i < at + count; ++i) {
        expected.push_back(tensor[static_cast<size_t>(i)]);
        expected_back[static_cast<size_t>(i)] = tensor[static_cast<size_t>(i)];
      }
    });
    std::vector<int16_t> packed(expected.size());
    Pack(reinterpret_cast<const std::byte*>(tensor.data()), region, sizeof(int16_t),
         reinterpret_cast<std::byte*>(packed.data()));
    EXPECT_EQ(packed, expected);
    std::vector<int16_t> back(tensor.size(), 0);
    Unpack(reinterpret_cast<const std::byte*>(packed.data()), region, sizeof(int16_t),
           reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back, expected_back);
  }
}

TEST(CopyRegion, BetweenTensorsOfDifferentShapes) {
  std::vector<int32_t> source(3 * 4 * 5);
  std::iota(source.begin(), source.end(), 1);
  const Region from = {{3, 4, 5}, {1, 0, 2}, {2, 4, 2}};
  const Region to = {{2, 6, 2}, {0, 1, 0}, {2, 4, 2}};
  std::vector<int32_t> target(2 * 6 * 2, 0);
  CopyRegion(reinterpret_cast<const std::byte*>(source.data()), from, sizeof(int32_t), to,
             reinterpret_cast<std::byte*>(target.data()));
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 6; ++b) {
      for (int c = 0; c < 2; ++c) {
        const int32_t expected = b < 1 || b > 4 ? 0 : source[static_cast<size_t>(((a + 1) * 4 + b - 1) * 5 + c + 2)];
        EXPECT_EQ(target[static_cast<size_t>((a * 6 + b) * 2 + c)], expected);
      }
    }
  }
}

TEST(TwoDimensions, AnEmptyBoxIsNothing) {
  const TwoDimensions view({2, 3}, 0, 1);
  const Box box = {{0, 2}, {1, 0}};
  EXPECT_EQ(view.Elements(box), 0);
  view.Pack(nullptr, box, sizeof(float), nullptr);
}

}  // namespace
}  // namespace cleave::runtime
