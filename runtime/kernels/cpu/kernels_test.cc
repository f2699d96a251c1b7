#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/indexing.h"
#include "runtime/kernels/neighbors.h"
#include "runtime/kernels/partners.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/show.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

std::vector<float> RandomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

TEST(Reduce, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<float> x = RandomValues(300 * 517, 3);
  for (const std::vector<int>& axes : {std::vector<int>{0}, std::vector<int>{1}, std::vector<int>{0, 1}}) {
    std::vector<float> one(517);
    std::vector<float> three(517);
    omp_set_num_threads(1);
    ReduceSum(x.data(), {300, 517}, axes, one.data());
    omp_set_num_threads(3);
    ReduceSum(x.data(), {300, 517}, axes, three.data());
    EXPECT_EQ(one, three);
  }
}

TEST(Elementwise, ExpIsExactToTwoUnits) {
  for (float x = -104.0f; x < 89.0f; x += 0.00137f) {
    const double expected = std::exp(static_cast<double>(x));
    if (expected > std::numeric_limits<float>::max()) continue;
    // Below the normal numbers the unit is the smallest number that a float can hold.
    const double unit = std::max(expected * 1.2e-7, 1.5e-45);
    ASSERT_NEAR(Exp(x), expected, 2 * unit) << "x = " << x;
  }
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-1e9f), 0.0f);
  EXPECT_EQ(Exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(Exp(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(Exp(std::nanf(""))));
}

// |f(x) - expected(x)| within `units` of the last place of the result for x in [low, high].
void ExpectExact(float (*f)(float), double (*expected)(double), float low, float high, double units) {
  for (int i = 0; i <= 100000; ++i) {
    const float x = low + (high - low) * static_cast<float>(i) / 100000.0f;
    const double exact = expected(static_cast<double>(x));
    ASSERT_NEAR(f(x), exact, units * 1.2e-7 * std::abs(exact) + 1e-44) << "x = " << x;
  }
}

TEST(Elementwise, PolynomialsAreExactToAFewUnits) {
  ExpectExact(
      Erf, [](double x) { return std::erf(x); }, -6.0f, 6.0f, 6);
  ExpectExact(
      Erf, [](double x) { return std::erf(x); }, -1e-3f, 1e-3f, 4);
  ExpectExact(
      LogOnePlus, [](double t) { return std::log1p(t); }, 0.0f, 1.0f, 3);
  EXPECT_EQ(Erf(std::numeric_limits<float>::infinity()), 1.0f);
  EXPECT_TRUE(std::isnan(Erf(std::nanf(""))));
}

TEST(Elementwise, PowersByWholeNumbers) {
  for (const float x : {-1.7f, -0.4f, 0.3f, 2.1f}) {
    EXPECT_EQ(Power<0>(x), 1.0f);
    EXPECT_EQ(Power<1>(x), x);
    EXPECT_NEAR(Power<3>(x), std::pow(x, 3), 1e-5);
    EXPECT_NEAR(Power<7>(x), std::pow(x, 7), 1e-4);
    EXPECT_NEAR(Power<-2>(x), std::pow(x, -2), 1e-5);
  }
}

TEST(Elementwise, WholeNumbersOf32Bits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::pair<float, int32_t> cases[] = {{1.9f, 1},
                                             {-1.9f, -1},
                                             {2147483520.0f, 2147483520},
                                             {2147483648.0f, 2147483647},
                                             {infinity, 2147483647},
                                             {-2147483648.0f, -2147483647 - 1},
                                             {-infinity, -2147483647 - 1},
                                             {std::nanf(""), 0}};
  for (const auto& [x, whole] : cases) EXPECT_EQ(ToInt32(x), whole) << x;
  EXPECT_EQ(ToInt32(16777217), 16777217);
}

TEST(Elementwise, ThePowerOfTwoFromANumberOn) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::pair<float, float> cases[] = {{1.0f, 1.0f},        {std::nextafter(1.0f, 2.0f), 2.0f},
                                           {0.75f, 1.0f},       {0.5f, 0.5f},
                                           {3e-3f, 1.0f / 256}, {1e-40f, 0x1p-126f},
                                           {0.0f, 0x1p-126f},   {3e38f, 0x1p127f},
                                           {infinity, infinity}};
  for (const auto& [x, power] : cases) EXPECT_EQ(PowerOfTwoFrom(x), power) << x;
  EXPECT_TRUE(std::isnan(PowerOfTwoFrom(std::nanf(""))));
}

TEST(Elementwise, WholeDivision) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(Quotient(-7, 2), -3);
  EXPECT_EQ(Remainder(-7, 2), -1);
  EXPECT_EQ(Quotient(7, 0), 0);
  EXPECT_EQ(Remainder(7, 0), 0);
  EXPECT_EQ(Quotient(kLeast, 3), -715827882);
  EXPECT_EQ(Remainder(kLeast, -1), 0);
}

TEST(Elementwise, BoundsKeepNotANumber) {
  const float nan = std::nanf("");
  EXPECT_EQ(Maximum(1.0f, 2.0f), 2.0f);
  EXPECT_EQ(Minimum(1.0f, 2.0f), 1.0f);
  EXPECT_EQ(Maximum(int32_t{16777217}, 16777216), 16777217) << "f32 does not have it";
  EXPECT_EQ(Minimum(-3, 2), -3);
  using OfFloats = float (*)(float, float);
  for (const OfFloats f : {OfFloats{Maximum}, OfFloats{Minimum}}) {
    EXPECT_TRUE(std::isnan(f(nan, 1.0f)));
    EXPECT_TRUE(std::isnan(f(1.0f, nan)));
  }
}

// Many rows are added, in an order that the number of threads must not change.
TEST(Indexing, SumsDoNotDependOnTheNumberOfThreads) {
  constexpr int64_t kCount = 3000;
  std::vector<int32_t> indices(kCount);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(i * 7 % 5);
  const std::vector<float> updates = RandomValues(kCount * 70, 5);
  std::vector<float> one(5 * 70);
  std::vector<float> three(5 * 70);
  omp_set_num_threads(1);
  ScatterAdd(updates.data(), indices.data(), {1, kCount, 5, 70, 0}, one.data());
  omp_set_num_threads(3);
  ScatterAdd(updates.data(), indices.data(), {1, kCount, 5, 70, 0}, three.data());
  EXPECT_EQ(one, three);
}

TEST(Partners, EveryRankGetsThePieceThatItNeeds) {
  const Mesh mesh = {{"m0", 2}, {"m1", 3}, {"m2", 2}};
  const std::vector<std::pair<AxisLists, AxisLists>> cases = {
      {{{0, 2}, {}}, {{2, 0}, {}}}, {{{0}, {2}}, {{2}, {0}}}, {{{0}, {}}, {{2}, {}}}, {{{0, 1, 2}}, {{2, 1, 0}}}};
  for (const auto& [from, to] : cases) {
    const std::vector<int> axes = from.size() == 1 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 2};
    for (int64_t rank = 0; rank < MeshSize(mesh); ++rank) {
      const Partners partners = FindPartners(mesh, rank, axes, from, to);
      ASSERT_GE(partners.origin, 0);
      const int64_t origin = RankAt(mesh, rank, axes, partners.origin);
      for (size_t d = 0; d < from.size(); ++d) {
        EXPECT_EQ(IndexOnAxes(mesh, origin, from[d]), IndexOnAxes(mesh, rank, to[d]));
      }
      // The member from which a rank receives must send to it.
      const Partners back = FindPartners(mesh, origin, axes, from, to);
      EXPECT_EQ(RankAt(mesh, origin, axes, back.destination), rank);
    }
  }
}

TEST(TensorText, ShowsShapeAndShortensLargeTensors) {
  const std::vector<float> x = {1, 2.5f, 3, 4};
  EXPECT_EQ(TensorText<float>({2, 2}, x.data()), "[[1, 2.5],\n [3, 4]]");
  EXPECT_EQ(TensorText<float>({}, x.data()), "1");
  std::vector<int32_t> many(2000);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(TensorText<int32_t>({2000}, many.data()),
            "[0, 1, 2, ..., 1997, 1998, 1999]\n2000 elements, min 0, max 1999, mean 999.5");
}

}  // namespace
}  // namespace cleave::runtime
