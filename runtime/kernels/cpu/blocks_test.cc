#include "runtime/kernels/cpu/blocks.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/kernels/attention_testing.h"
#include "runtime/kernels/cpu/vectors.h"

namespace cleave::runtime {
namespace {

// a [rows, inner] b [inner, columns] by its definition.
template <typename T>
std::vector<double> ProductOf(const std::vector<T>& a, const std::vector<T>& b, int64_t rows, int64_t inner,
                              int64_t columns) {
  std::vector<double> c(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t n = 0; n < inner; ++n) {
        c[static_cast<size_t>(i * columns + j)] += static_cast<double>(a[static_cast<size_t>(i * inner + n)]) *
                                                   static_cast<double>(b[static_cast<size_t>(n * columns + j)]);
      }
    }
  }
  return c;
}

template <typename T>
void CheckProduct(int64_t rows, int64_t inner, int64_t columns) {
  SCOPED_TRACE(testing::Message() << rows << " x " << inner << " x " << columns);
  const std::vector<T> a = Random<T>(rows * inner, 1);
  const std::vector<T> b = Random<T>(inner * columns, 2);
  const int64_t words = PaddedWords<T>(inner), width = Padded<T>(columns);
  std::vector<Word<T>> left(static_cast<size_t>(Padded<T>(rows) * words));
  std::vector<Word<T>> right(static_cast<size_t>(words * width));
  std::vector<float> c(static_cast<size_t>(Padded<T>(rows) * width), 100.0f);
  PackAlongRows<T>({a.data(), inner}, rows, inner, left.data());
  PackAcrossRows<T>({b.data(), columns}, inner, columns, right.data());
  BlockProduct product = {.rows = Padded<T>(rows), .columns = width, .words = words};
  MultiplyBlocks<T>(product, {left.data(), words}, {right.data(), width}, {c.data(), width});
  product.adds = true;
  // The second time with the left factor transposed.
  std::vector<Word<T>> turned(left.size());
  TransposeBlock<Word<T>>(product.rows, words, {left.data(), words}, {turned.data(), product.rows});
  MultiplyBlocks<T>(product, {turned.data(), 1, product.rows}, {right.data(), width}, {c.data(), width});
  const std::vector<double> expected = ProductOf(a, b, rows, inner, columns);
  for (int64_t i = 0; i < product.rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const bool is_padding = i >= rows || j >= columns;
      const double is = is_padding ? 0 : 2 * expected[static_cast<size_t>(i * columns + j)];
      ASSERT_NEAR(c[static_cast<size_t>(i * width + j)], is, 1e-4) << i << " " << j;
    }
  }
}

TEST(MultiplyBlocks, OfAllSizes) {
  for (const int64_t rows : {1, 16, 33, 80}) {
    for (const int64_t inner : {1, 31, 64}) {
      for (const int64_t columns : {1, 17, 40, 64, 100}) {
        CheckProduct<float>(rows, inner, columns);
        CheckProduct<BFloat16>(rows, inner, columns);
      }
    }
  }
}

TEST(Vectors, ExpOfNegativeIsExpAsFarAsItIsNormal) {
  for (float x = -90.0f; x <= 0.0f; x += 0.00917f) {
    const Floats y = ExpOfNegative(Floats{} + x);
    const double expected = x < -87.0f ? 0.0 : std::exp(static_cast<double>(x));
    ASSERT_NEAR(y[0], expected, 2.5e-7 * expected) << x;
    ASSERT_EQ(y[kLanes - 1], y[0]);
  }
  EXPECT_EQ(ExpOfNegative(Floats{})[0], 1.0f);
  EXPECT_EQ(ExpOfNegative(Floats{} - INFINITY)[0], 0.0f);
  EXPECT_TRUE(std::isnan(ExpOfNegative(Floats{} + NAN)[0]));
}

TEST(Vectors, RoundAsBFloat16Does) {
  for (const float x : {0.0f, 1.0f, -1.00390625f, 1.01171875f, 3.1415927f, 6.0e-5f, INFINITY, NAN}) {
    BFloat16 stored[kLanes];
    StoreRounded(Floats{} + x, stored);
    const Bits pairs = RoundedPairs(Floats{} + x, Floats{} - x);
    EXPECT_EQ(stored[kLanes - 1].bits, BFloat16(x).bits) << x;
    EXPECT_EQ(pairs[0] & 0xFFFFu, BFloat16(x).bits) << x;
    if (std::isnan(x)) continue;
    EXPECT_EQ(pairs[0] >> 16, BFloat16(0.0f - x).bits) << x;
  }
}

TEST(Vectors, OverLanes) {
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = static_cast<float>((i * 7) % kLanes);
  EXPECT_EQ(SumOf(Load(lanes)), static_cast<float>(kLanes * (kLanes - 1) / 2));
  EXPECT_EQ(LargestOf(Load(lanes)), static_cast<float>(kLanes - 1));
}

}  // namespace
}  // namespace cleave::runtime
