// Compares matrix products with sums in double, for every implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/device_vector.h"
#include "runtime/math/math.h"
#include "runtime/math/scaled.h"
#include "runtime/math/testing.h"

namespace cleave::runtime {
namespace {

// The product in double, and the sum of the terms' magnitudes, which bounds the rounding.
struct Exact {
  double value = 0;
  double magnitude = 0;
};
template <typename T>
Exact Element(const MatMulShape& s, const std::vector<T>& a, const std::vector<T>& b, int64_t batch, int64_t i,
              int64_t j) {
  Exact sum;
  for (int64_t k = 0; k < s.k; ++k) {
    const int64_t at_a = batch * s.m * s.k + (s.transpose_a ? k * s.m + i : i * s.k + k);
    const int64_t at_b = batch * s.k * s.n + (s.transpose_b ? j * s.k + k : k * s.n + j);
    const double product =
        static_cast<double>(a[static_cast<size_t>(at_a)]) * static_cast<double>(b[static_cast<size_t>(at_b)]);
    sum.value += product;
    sum.magnitude += std::abs(product);
  }
  return sum;
}

// The most that rounding to T may change a value.
template <typename T>
double Rounding(double value) {
  const double share = std::is_same_v<T, BFloat16> ? 1.0 / 256 : std::is_same_v<T, Float16> ? 1.0 / 2048 : 0.0;
  return share * std::abs(value);
}

constexpr float kBehind = 123.0f;

template <typename In, typename Out>
void ExpectProductOf(const MatMulShape& s, bool with_bias, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<In> a = NormalValues<In>(s.batch * s.m * s.k, random);
  const std::vector<In> b = NormalValues<In>(s.batch * s.k * s.n, random);
  const std::vector<Out> bias = NormalValues<Out>(s.n, random);
  const DeviceVector<In> device_a(a), device_b(b);
  const DeviceVector<Out> device_bias(bias);
  const DeviceVector<Out> device_c(
      std::vector<Out>(static_cast<size_t>(s.batch * s.m * s.n) + 1, static_cast<Out>(kBehind)));
  MatMul(s, device_a.get(), device_b.get(), device_c.get(), with_bias ? device_bias.get() : nullptr);
  const std::vector<Out> c = device_c.Values();
  EXPECT_EQ(static_cast<float>(c.back()), kBehind) << "wrote beyond the end";
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        Exact expected = Element(s, a, b, batch, i, j);
        if (with_bias) expected.value += static_cast<double>(bias[static_cast<size_t>(j)]);
        const float actual = c[static_cast<size_t>((batch * s.m + i) * s.n + j)];
        ASSERT_NEAR(actual, expected.value, 1e-6 * (expected.magnitude + 4) + Rounding<Out>(expected.value))
            << "at " << batch << ", " << i << ", " << j;
      }
    }
  }
}

// In all types.
void ExpectProduct(const MatMulShape& s, bool with_bias, unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << s.batch << " x " << s.m << "x" << s.n << "x" << s.k
                                  << " transposed " << s.transpose_a << s.transpose_b << " bias " << with_bias);
  {
    SCOPED_TRACE("f32");
    ExpectProductOf<float, float>(s, with_bias, seed);
  }
  {
    SCOPED_TRACE("bf16 to f32");
    ExpectProductOf<BFloat16, float>(s, with_bias, seed);
  }
  {
    SCOPED_TRACE("bf16");
    ExpectProductOf<BFloat16, BFloat16>(s, with_bias, seed);
  }
  {
    SCOPED_TRACE("f16 to f32");
    ExpectProductOf<Float16, float>(s, with_bias, seed);
  }
  SCOPED_TRACE("f16");
  ExpectProductOf<Float16, Float16>(s, with_bias, seed);
}

// `first`: whether nothing is added, neither what c holds nor a bias, 1 everywhere.
template <typename A, typename B, typename Out>
void ExpectScaledProductOf(const MatMulShape& s, bool first, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<A> a = NormalValues<A>(s.m * s.k, random);
  const std::vector<B> b = NormalValues<B>(s.k * s.n, random);
  const std::vector<float> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
  constexpr float kUnitA = 1.0f / 1024, kUnitB = 64.0f;
  const DeviceVector<A> device_a(a);
  const DeviceVector<B> device_b(b);
  const DeviceVector<float> units(std::vector<float>{kUnitA, kUnitB});
  const DeviceVector<Out> device_c(std::vector<Out>(static_cast<size_t>(s.m * s.n), static_cast<Out>(1.0f)));
  const DeviceVector<Out> device_bias(std::vector<Out>(static_cast<size_t>(s.n), static_cast<Out>(1.0f)));
  if constexpr (std::is_same_v<Out, float>) {
    AccumulateScaledMatMul(first, s, device_a.get(), units.get(), device_b.get(), units.get() + 1, device_c.get());
  } else {
    ScaledMatMul(s, device_a.get(), units.get(), device_b.get(), units.get() + 1, device_c.get(),
                 first ? nullptr : device_bias.get());
  }
  const std::vector<Out> c = device_c.Values();
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      const Exact product = Element(s, wide_a, wide_b, 0, i, j);
      const double expected = kUnitA * kUnitB * product.value + (first ? 0 : 1);
      ASSERT_NEAR(c[static_cast<size_t>(i * s.n + j)], expected,
                  1e-6 * (kUnitA * kUnitB * product.magnitude + 4) + Rounding<Out>(expected))
          << "at " << i << ", " << j;
    }
  }
}

// Of sizes that a GPU's library takes in 8 bits, and of others.
TEST(ScaledMatMul, EqualsTheSumsTimesTheUnits) {
  unsigned seed = 0;
  for (const int64_t n : {48, 33}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const MatMulShape s = {.m = 35, .n = n, .k = 64, .transpose_a = transpose_a, .transpose_b = transpose_b};
        SCOPED_TRACE(testing::Message() << n << " columns, transposed " << transpose_a << transpose_b);
        ExpectScaledProductOf<Float8E4M3, Float8E4M3, BFloat16>(s, true, ++seed);
        ExpectScaledProductOf<Float8E5M2, Float8E4M3, BFloat16>(s, false, ++seed);
        ExpectScaledProductOf<Float8E5M2, Float8E4M3, float>(s, true, ++seed);
        ExpectScaledProductOf<Float8E4M3, Float8E5M2, float>(s, false, ++seed);
      }
    }
  }
  const DeviceVector<Float8E4M3> nothing(0);
  const DeviceVector<float> unit(std::vector<float>{1.0f}), c(std::vector<float>(6, 5.0f));
  ScaledMatMul({.m = 2, .n = 3, .k = 0}, nothing.get(), unit.get(), nothing.get(), unit.get(), c.get());
  EXPECT_EQ(c.Values(), std::vector<float>(6, 0.0f));
}

TEST(MatMul, EqualsTheSumsInEveryTransposition) {
  const int64_t sizes[][4] = {{1, 1, 1, 1},    {1, 3, 5, 7},      {1, 64, 48, 33}, {1, 17, 1, 20},
                              {1, 1, 31, 9},   {1, 100, 10, 128}, {3, 5, 4, 6},    {8, 16, 16, 1},
                              {2, 33, 65, 40}, {1, 2, 200, 150},  {3, 4, 131, 67}};
  unsigned seed = 0;
  for (const auto& [batch, m, n, k] : sizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        ExpectProduct({.batch = batch, .m = m, .n = n, .k = k, .transpose_a = transpose_a, .transpose_b = transpose_b},
                      false, ++seed);
      }
    }
  }
}

TEST(MatMul, AddsABias) {
  unsigned seed = 100;
  for (const bool bias : {false, true}) {
    ExpectProduct({.m = 20, .n = 31, .k = 12, .transpose_b = true}, bias, ++seed);
    ExpectProduct({.batch = 3, .m = 7, .n = 8, .k = 5}, bias, ++seed);
    ExpectProduct({.m = 4, .n = 6, .k = 0}, bias, ++seed);
  }
}

// The first of three products is stored, the others are added.
template <typename In>
void ExpectSumOfProducts(const MatMulShape& s, unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << s.batch << " x " << s.m << "x" << s.n << "x" << s.k);
  std::mt19937 random(seed);
  const int64_t count = s.batch * s.m * s.n;
  const DeviceVector<float> device_c(std::vector<float>(static_cast<size_t>(count) + 1, kBehind));
  std::vector<Exact> expected(static_cast<size_t>(count));
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<In> a = NormalValues<In>(s.batch * s.m * s.k, random);
    const std::vector<In> b = NormalValues<In>(s.batch * s.k * s.n, random);
    const DeviceVector<In> device_a(a), device_b(b);
    AccumulateMatMul(turn == 0, s, device_a.get(), device_b.get(), device_c.get());
    for (int64_t i = 0; i < count; ++i) {
      const Exact part = Element(s, a, b, i / s.n / s.m, i / s.n % s.m, i % s.n);
      expected[static_cast<size_t>(i)].value += part.value;
      expected[static_cast<size_t>(i)].magnitude += part.magnitude;
    }
  }
  const std::vector<float> c = device_c.Values();
  EXPECT_EQ(c.back(), kBehind) << "wrote beyond the end";
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(c[i], expected[i].value, 1e-6 * (expected[i].magnitude + 4)) << "at " << i;
  }
}

TEST(MatMul, AddsUpProducts) {
  unsigned seed = 200;
  for (const MatMulShape& shape :
       {MatMulShape{.m = 20, .n = 31, .k = 12, .transpose_a = true},
        MatMulShape{.m = 64, .n = 48, .k = 100, .transpose_a = true, .transpose_b = true},
        MatMulShape{.batch = 3, .m = 7, .n = 8, .k = 5}, MatMulShape{.m = 4, .n = 6, .k = 0},
        MatMulShape{.m = 1, .n = 1, .k = 9}, MatMulShape{.m = 3, .n = 70, .k = 130, .transpose_b = true}}) {
    ExpectSumOfProducts<float>(shape, ++seed);
    ExpectSumOfProducts<BFloat16>(shape, ++seed);
    ExpectSumOfProducts<Float16>(shape, ++seed);
  }
}

TEST(MatMul, EmptySizes) {
  ExpectProduct({.m = 3, .n = 4, .k = 0}, false, 1);
  ExpectProduct({.m = 0, .n = 4, .k = 5}, false, 2);
  ExpectProduct({.m = 3, .n = 0, .k = 5, .transpose_b = true}, false, 3);
  ExpectProduct({.batch = 0, .m = 3, .n = 4, .k = 5}, false, 4);
}

TEST(MatMul, ShapesMayAlternate) {
  for (int round = 0; round < 3; ++round) {
    ExpectProduct({.m = 8, .n = 9, .k = 10}, false, 5);
    ExpectProduct({.m = 8, .n = 9, .k = 10, .transpose_a = true}, false, 6);
    ExpectProduct({.m = 9, .n = 8, .k = 10}, true, 7);
  }
}

}  // namespace
}  // namespace cleave::runtime
