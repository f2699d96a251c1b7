#include "runtime/comm/packing.h"

#include <gtest/gtest.h>

#include <numeric>

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

TEST(TwoDimensions, AnEmptyBoxIsNothing) {
  const TwoDimensions view({2, 3}, 0, 1);
  const Box box = {{0, 2}, {1, 0}};
  EXPECT_EQ(view.Elements(box), 0);
  view.Pack(nullptr, box, sizeof(float), nullptr);
}

}  // namespace
}  // namespace cleave::runtime
