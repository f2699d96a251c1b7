// What is special about cuBLASLt: alignment, many batches, TF32.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/device/device_vector.h"
#include "runtime/error/warning.h"
#include "runtime/math/math.h"
#include "runtime/math/scaled.h"

namespace cleave::runtime {
namespace {

// c = a b, where a holds ones and b the numbers of its columns, at places that begin `offset` elements late. All
// numbers are exact in bf16.
template <typename T>
void ExpectProductAt(int64_t offset) {
  constexpr int64_t kSize = 7;
  std::vector<T> a(static_cast<size_t>(offset + kSize * kSize), T(1.0f));
  std::vector<T> b = a;
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    b[static_cast<size_t>(offset + i)] = static_cast<T>(static_cast<float>(i % kSize));
  }
  const DeviceVector<T> device_a(a), device_b(b), c(static_cast<int64_t>(a.size()));
  MatMul({.m = kSize, .n = kSize, .k = kSize}, device_a.get() + offset, device_b.get() + offset, c.get() + offset,
         device_b.get() + offset);
  const std::vector<T> values = c.Values();
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    const float value = values[static_cast<size_t>(offset + i)];
    ASSERT_EQ(value, (kSize + 1) * (i % kSize)) << "element " << i;
  }
}

// The same shape is used again and again: a kernel that was chosen for aligned matrices must not get others.
TEST(CublasTest, PlacesMayBeAlignedToOneElementOnly) {
  for (const int64_t offset : {0, 1, 2, 3, 4, 8, 16, 64, 5, 0}) {
    SCOPED_TRACE(testing::Message() << "offset " << offset);
    ExpectProductAt<float>(offset);
    ExpectProductAt<BFloat16>(offset);
  }
}

// GPUs differ in what they have kernels for.
TEST(CublasTest, WhatTheLibraryDoesNotComputeIsCountedAndSaidOnce) {
  constexpr int kCalls = 3;
  std::string expected;
  testing::internal::CaptureStderr();
  std::thread rank([&] {
    for (int i = 0; i < kCalls; ++i) ExpectProductAt<BFloat16>(1);
    for (const auto& [kind, calls] : Fallbacks()) {
      EXPECT_EQ(calls, kCalls) << kind;
      expected += std::string("warning: cuBLASLt does not ") + (kind == "biases" ? "add the bias of" : "compute") +
                  " a product of 1 times 7 x 7 and 7 x 7; kernels of this program do, which take longer\n";
    }
  });
  rank.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
}

TEST(CublasTest, MoreBatchesThanAGridHasBlocks) {
  constexpr int64_t kBatches = 65535 + 20;
  std::vector<float> a(kBatches * 2), b(kBatches * 2), expected;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 251);
    b[i] = static_cast<float>(i % 7);
  }
  for (size_t i = 0; i < kBatches; ++i) expected.push_back(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]);
  const DeviceVector<float> device_a(a), device_b(b), c(kBatches);
  MatMul({.batch = kBatches, .m = 1, .n = 1, .k = 2}, device_a.get(), device_b.get(), c.get());
  EXPECT_EQ(c.Values(), expected);
}

// 1 + 2^-12 has one digit more than TF32 keeps.
TEST(CublasTest, Tf32IsUsedWhereItIsAskedFor) {
  constexpr int64_t kSize = 128;
  constexpr float kLong = 1.0f + 1.0f / 4096;
  const std::vector<float> ones(kSize * kSize, 1.0f);
  const DeviceVector<float> a(std::vector<float>(kSize * kSize, kLong)), b(ones), c(kSize * kSize);
  const auto first = [&] {
    MatMul({.m = kSize, .n = kSize, .k = kSize}, a.get(), b.get(), c.get());
    return c.Values()[0];
  };
  EXPECT_EQ(first(), kSize * kLong);
  SetMatMulPrecision(Precision::kTf32);
  EXPECT_EQ(first(), kSize);
  SetMatMulPrecision(Precision::kF32);
  EXPECT_EQ(first(), kSize * kLong);
}

double ShareOf(double x) { return 1 / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))); }

// Of numbers from -1 to 1 that T has.
template <typename T>
std::vector<T> Numbers(int64_t count, int64_t period) {
  std::vector<T> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(T(static_cast<float>(i % period) / 8 - 1));
  return numbers;
}

template <typename T>
void ExpectNear(const std::vector<T>& values, const std::vector<double>& expected) {
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 0.02;
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(static_cast<float>(values[i]), expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

// Sizes of which the library has epilogues, and others; several products; without a bias, and without what is before.
template <typename T>
void CheckGelu(const MatMulShape& shape) {
  const int64_t rows = shape.batch * shape.m;
  const std::vector<T> a = Numbers<T>(rows * shape.k, 13), b = Numbers<T>(shape.batch * shape.k * shape.n, 17);
  const std::vector<T> bias = Numbers<T>(shape.n, 5), at = Numbers<T>(rows * shape.n, 11);
  std::vector<double> sums, products;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < shape.n; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        sum += static_cast<double>(static_cast<float>(a[static_cast<size_t>(row * shape.k + k)])) *
               static_cast<float>(b[static_cast<size_t>((row / shape.m * shape.k + k) * shape.n + column)]);
      }
      products.push_back(sum);
      sums.push_back(sum + static_cast<float>(bias[static_cast<size_t>(column)]));
    }
  }
  std::vector<double> gelu, gelu_of_product, slope;
  for (size_t i = 0; i < sums.size(); ++i) {
    gelu.push_back(sums[i] * ShareOf(sums[i]));
    gelu_of_product.push_back(products[i] * ShareOf(products[i]));
    const double x = static_cast<float>(at[i]), share = ShareOf(x);
    slope.push_back(products[i] * (share + x * share * (1 - share) * 1.5957691216057308 * (1 + 3 * 0.044715 * x * x)));
  }
  const DeviceVector<T> on_a(a), on_b(b), on_bias(bias), on_at(at);
  const DeviceVector<T> before(rows * shape.n), y(rows * shape.n);
  MatMulGelu(shape, on_a.get(), on_b.get(), on_bias.get(), before.get(), y.get());
  ExpectNear(before.Values(), sums);
  ExpectNear(y.Values(), gelu);
  MatMulGelu(shape, on_a.get(), on_b.get(), on_bias.get(), nullptr, before.get());
  ExpectNear(before.Values(), gelu);
  MatMulGelu(shape, on_a.get(), on_b.get(), nullptr, before.get(), y.get());
  ExpectNear(before.Values(), products);
  ExpectNear(y.Values(), gelu_of_product);
  MatMulGeluGradient(shape, on_a.get(), on_b.get(), on_at.get(), y.get());
  ExpectNear(y.Values(), slope);
}

TEST(CublasTest, AnEpilogueAppliesGelu) {
  for (const MatMulShape& shape :
       {MatMulShape{.m = 5, .n = 24, .k = 3}, MatMulShape{.batch = 2, .m = 3, .n = 8, .k = 4},
        MatMulShape{.m = 4, .n = 7, .k = 9}, MatMulShape{.m = 2, .n = 8, .k = 0}}) {
    SCOPED_TRACE(testing::Message() << shape.batch << " x " << shape.m << " x " << shape.n << " x " << shape.k);
    CheckGelu<float>(shape);
    CheckGelu<BFloat16>(shape);
    CheckGelu<Float16>(shape);
  }
}

// Sizes that the library takes in 8 bits, and others.
TEST(CublasTest, AnEpilogueAppliesGeluToProductsOf8Bits) {
  for (const int64_t n : {int64_t{48}, int64_t{7}}) {
    const MatMulShape shape = {.m = 5, .n = n, .k = 32};
    const auto a = Numbers<Float8E4M3>(shape.m * shape.k, 13), b = Numbers<Float8E4M3>(shape.k * n, 17);
    const auto bias = Numbers<BFloat16>(n, 5);
    constexpr float kUnitA = 0.25f, kUnitB = 0.5f;
    std::vector<double> sums, gelu, gelu_of_product;
    for (int64_t i = 0; i < shape.m * n; ++i) {
      double product = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        product += static_cast<double>(kUnitA * static_cast<float>(a[static_cast<size_t>(i / n * shape.k + k)])) *
                   static_cast<double>(kUnitB * static_cast<float>(b[static_cast<size_t>(k * n + i % n)]));
      }
      const double sum = product + static_cast<float>(bias[static_cast<size_t>(i % n)]);
      sums.push_back(sum);
      gelu.push_back(sum * ShareOf(sum));
      gelu_of_product.push_back(product * ShareOf(product));
    }
    const DeviceVector<Float8E4M3> on_a(a), on_b(b);
    const DeviceVector<BFloat16> on_bias(bias), before(shape.m * n), y(shape.m * n);
    const DeviceVector<float> units(std::vector<float>{kUnitA, kUnitB});
    const auto multiply = [&](const BFloat16* added, BFloat16* kept) {
      ScaledMatMulGelu(shape, on_a.get(), units.get(), on_b.get(), units.get() + 1, added, kept, y.get());
    };
    multiply(on_bias.get(), before.get());
    ExpectNear(before.Values(), sums);
    ExpectNear(y.Values(), gelu);
    multiply(on_bias.get(), nullptr);
    ExpectNear(y.Values(), gelu);
    multiply(nullptr, nullptr);
    ExpectNear(y.Values(), gelu_of_product);
  }
}

template <typename T>
void CheckSums(int64_t m, int64_t n, int64_t k) {
  const std::vector<T> a = Numbers<T>(k * m, 13), b = Numbers<T>(k * n, 17);
  std::vector<double> c(static_cast<size_t>(m * n)), of_a(static_cast<size_t>(m)), of_b(static_cast<size_t>(n));
  for (int64_t i = 0; i < k * m * n; ++i) {
    const int64_t at = i / (m * n), row = i / n % m, column = i % n;
    c[static_cast<size_t>(row * n + column)] +=
        static_cast<double>(static_cast<float>(a[static_cast<size_t>(at * m + row)])) *
        static_cast<float>(b[static_cast<size_t>(at * n + column)]);
  }
  for (int64_t i = 0; i < k * m; ++i) of_a[static_cast<size_t>(i % m)] += static_cast<float>(a[static_cast<size_t>(i)]);
  for (int64_t i = 0; i < k * n; ++i) of_b[static_cast<size_t>(i % n)] += static_cast<float>(b[static_cast<size_t>(i)]);
  const DeviceVector<T> on_a(a), on_b(b);
  for (const bool sums_a : {false, true}) {
    for (const bool sums_b : {!sums_a, true}) {
      const DeviceVector<float> product(m * n), sum_a(m), sum_b(n);
      MatMulAndSums({.m = m, .n = n, .k = k, .transpose_a = true}, on_a.get(), on_b.get(), product.get(),
                    sums_a ? sum_a.get() : nullptr, sums_b ? sum_b.get() : nullptr);
      ExpectNear(product.Values(), c);
      if (sums_a) ExpectNear(sum_a.Values(), of_a);
      if (sums_b) ExpectNear(sum_b.Values(), of_b);
    }
  }
}

TEST(CublasTest, AnEpilogueAddsUpAFactor) {
  using Sizes = std::tuple<int64_t, int64_t, int64_t>;
  for (const auto& [m, n, k] : {Sizes(8, 16, 64), Sizes(3, 5, 7), Sizes(4, 4, 0), Sizes(1, 2, 300)}) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    CheckSums<float>(m, n, k);
    CheckSums<BFloat16>(m, n, k);
    CheckSums<Float16>(m, n, k);
  }
}

TEST(CublasDeathTest, AFailureNamesTheShape) {
  const DeviceVector<float> a(std::vector<float>(12, 1.0f));
  EXPECT_EXIT(MatMul({.m = 2, .n = 4, .k = 3, .transpose_b = true}, a.get(), a.get(), static_cast<float*>(nullptr)),
              testing::ExitedWithCode(6),
              "cuBLASLt failed in a product of 1 times 2 x 3 and 3 x 4, the second stored transposed: ");
}

}  // namespace
}  // namespace cleave::runtime
