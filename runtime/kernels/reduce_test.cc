#include "runtime/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/testing.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// The reductions written out: every element is added to the results at the index that leaves the axes out.
struct Reductions {
  Reductions(const std::vector<float>& x, const std::vector<int64_t>& shape, const std::vector<int>& axes) {
    std::vector<int64_t> strides(shape.size(), 0);
    int64_t results = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end()) continue;
      strides[d] = results;
      results *= shape[d];
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    sum.resize(static_cast<size_t>(results), 0.0);
    largest.resize(sum.size(), -kInfinity);
    smallest.resize(sum.size(), kInfinity);
    magnitude.resize(sum.size(), 0);
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i);
      int64_t index = 0;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) index += rest % shape[d] * strides[d];
      const size_t at = static_cast<size_t>(index);
      sum[at] += x[i];
      largest[at] = std::max(largest[at], x[i]);
      smallest[at] = std::min(smallest[at], x[i]);
      magnitude[at] = std::max(magnitude[at], std::abs(x[i]));
    }
  }

  std::vector<double> sum;
  std::vector<float> largest;
  std::vector<float> smallest;
  std::vector<float> magnitude;
};

using Function = void (*)(ConstReals, const std::vector<int64_t>&, const std::vector<int>&, float*);

std::vector<float> Reduced(Function function, const std::vector<float>& x, const std::vector<int64_t>& shape,
                           const std::vector<int>& axes, size_t results, int64_t offset) {
  const Placed<float> y(static_cast<int64_t>(results), offset);
  function(Placed<float>(x, offset), shape, axes, y);
  return y.Values();
}

void MeanByFour(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y) {
  ReduceMean(x, shape, axes, 4, y);
}

void CheckAxes(const std::vector<float>& x, const std::vector<int64_t>& shape, const std::vector<int>& axes,
               int64_t offset) {
  SCOPED_TRACE(testing::Message() << testing::PrintToString(shape) << " over " << testing::PrintToString(axes) << " at "
                                  << offset);
  const Reductions expected(x, shape, axes);
  std::vector<double> sum = expected.sum;
  // Sums of n numbers of both signs are about sqrt(n) large.
  const double terms = static_cast<double>(x.size()) / static_cast<double>(std::max<size_t>(sum.size(), 1));
  const double bound = 1e-6 * std::sqrt(terms) + 1e-6;
  ExpectNear(Reduced(ReduceSum, x, shape, axes, sum.size(), offset), sum, bound);
  for (double& value : sum) value /= 4;
  ExpectNear(Reduced(MeanByFour, x, shape, axes, sum.size(), offset), sum, bound);
  EXPECT_EQ(Reduced(ReduceMax, x, shape, axes, sum.size(), offset), expected.largest);
  EXPECT_EQ(Reduced(ReduceMin, x, shape, axes, sum.size(), offset), expected.smallest);
  EXPECT_EQ(Reduced(ReduceMaxAbs, x, shape, axes, sum.size(), offset), expected.magnitude);
}

TEST(Reduce, EveryShapeAndEverySetOfAxes) {
  const std::vector<std::vector<int64_t>> shapes = {
      {},          {1},        {7},       {0},          {3, 0},           {5, 4},    {100, 10},
      {300, 517},  {20000},    {2, 3, 4}, {6, 1, 5},    {3, 40, 70},      {3, 5000}, {2, 3, 2, 5},
      {9000, 3},   {1, 60000}, {700, 64}, {90, 20, 33}, {2, 70, 2, 9, 2}, {600, 20}, {40001},
      {12, 17000}, {64, 768}};
  uint32_t seed = 0;
  for (const std::vector<int64_t>& shape : shapes) {
    const std::vector<float> x = RandomValues(ElementCount(shape), ++seed);
    for (uint32_t set = 0; set < (1u << shape.size()); ++set) {
      std::vector<int> axes;
      for (size_t d = 0; d < shape.size(); ++d) {
        // No axes means all of them.
        if (set == 0 || (set >> d & 1) != 0) axes.push_back(static_cast<int>(d));
      }
      CheckAxes(x, shape, axes, set % 2);
    }
  }
}

TEST(Reduce, NoAxesAreAll) {
  const std::vector<float> x = RandomValues(60, 1);
  EXPECT_EQ(Reduced(ReduceSum, x, {3, 4, 5}, {}, 1, 0), Reduced(ReduceSum, x, {3, 4, 5}, {0, 1, 2}, 1, 0));
}

// A sum of many numbers of one sign loses no more than a few units.
TEST(Reduce, LongSumsAreExact) {
  const std::vector<float> x(1000000, 0.1f);
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1000000}, {1000000, 1}, {500000, 2}}) {
    const std::vector<float> sum =
        Reduced(ReduceSum, x, shape, {0}, static_cast<size_t>(shape.size() > 1 ? shape[1] : 1), 0);
    for (const float value : sum)
      EXPECT_NEAR(value, 0.1 * static_cast<double>(shape[0]), 1e-4 * 0.1 * static_cast<double>(shape[0]));
  }
}

TEST(Reduce, SquaresOfAnyNumberOfElements) {
  const std::vector<int64_t> counts = {0, 1, 2, 16, 17, 1025, 4096, 100003};
  std::deque<DeviceVector<float>> tensors;
  std::vector<float> alone;
  for (const int64_t count : counts) {
    std::vector<float> x;
    double expected = 0;
    for (int64_t i = 0; i < count; ++i) {
      x.push_back(static_cast<float>(i % 13) / 4 - 1);
      expected += static_cast<double>(x.back()) * x.back();
    }
    const DeviceVector<float> y(1);
    SumOfSquares(tensors.emplace_back(x).get(), count, y.get());
    alone.push_back(y.Values()[0]);
    EXPECT_NEAR(alone.back(), expected, 1e-6 * expected) << count;
  }
  // More tensors than one launch takes: each has the same digits as alone.
  const DeviceVector<float> sums(40 * static_cast<int64_t>(counts.size()));
  std::vector<SquaredTensor> list;
  for (int64_t i = 0; i < sums.size(); ++i) {
    const size_t which = static_cast<size_t>(i) % counts.size();
    list.push_back({tensors[which].get(), counts[which], sums.get() + i});
  }
  SumsOfSquares(list);
  const std::vector<float> together = sums.Values();
  for (size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], alone[i % counts.size()]) << i;
}

TEST(Reduce, UnitsAreThePowersOfTwoFromTheLargestMagnitude) {
  const std::vector<int64_t> counts = {0, 1, 3, 17, 4096, 100003};
  std::deque<DeviceVector<float>> tensors;
  std::deque<DeviceVector<BFloat16>> in_16_bits;
  const DeviceVector<float> units(40 * static_cast<int64_t>(counts.size()));
  std::vector<MeasuredTensor> list;
  std::vector<float> expected;
  for (int64_t i = 0; i < units.size(); ++i) {
    const int64_t count = counts[static_cast<size_t>(i) % counts.size()];
    std::vector<float> x(static_cast<size_t>(count), 0.25f);
    if (count > 0) x[static_cast<size_t>(i * 7919 % count)] = -896.0f;
    const float largest_number = i % 3 == 0 ? 448.0f : 57344.0f;
    if (i % 2 == 0) {
      list.push_back({tensors.emplace_back(x).get(), count, largest_number, units.get() + i});
    } else {
      const std::vector<BFloat16> narrow(x.begin(), x.end());
      list.push_back({in_16_bits.emplace_back(narrow).get(), count, largest_number, units.get() + i});
    }
    expected.push_back(PowerOfTwoFrom((count == 0 ? 0.0f : 896.0f) / largest_number));
    if (list.size() > 2 * counts.size()) continue;
    UnitOf(list.back().x, count, largest_number, units.get() + i);
    EXPECT_EQ(units.Values()[static_cast<size_t>(i)], expected.back()) << count;
  }
  UnitsOf(list);
  EXPECT_EQ(units.Values(), expected);
}

TEST(Reduce, WhatIsNotANumberIsKept) {
  for (const int64_t size : {5, 100, 5000, 70000}) {
    for (const int64_t at : {int64_t{0}, size / 2, size - 1}) {
      std::vector<float> x = RandomValues(size, 3);
      x[static_cast<size_t>(at)] = std::nanf("");
      for (const Function function : {ReduceSum, ReduceMax, ReduceMin}) {
        EXPECT_TRUE(std::isnan(Reduced(function, x, {size}, {0}, 1, 0)[0])) << size << ", " << at;
        EXPECT_TRUE(std::isnan(Reduced(function, x, {size / 5, 5}, {0}, 5, 0)[static_cast<size_t>(at % 5)]));
      }
    }
  }
}

template <typename T>
void CheckAccumulation(Reduction reduction, double (*combine)(double, double)) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{40000}}) {
    const Placed<T> total(count, 0);
    std::vector<T> expected(static_cast<size_t>(count));
    int64_t turn = 0;
    for (const bool first : {true, false, false, true, false}) {
      std::vector<T> part;
      for (int64_t i = 0; i < count; ++i)
        part.push_back(static_cast<T>(static_cast<float>((i * 7 + turn * 5) % 11 - 4)));
      ++turn;
      const Placed<T> placed(part, 0);
      Accumulate<T>(reduction, first, placed, count, total);
      for (size_t i = 0; i < part.size(); ++i) {
        const double both = combine(static_cast<double>(expected[i]), static_cast<double>(part[i]));
        expected[i] = first ? part[i] : static_cast<T>(static_cast<float>(both));
      }
      EXPECT_EQ(total.Values(), expected);
    }
  }
}

TEST(Accumulate, BeginsAnewWithTheFirstPart) {
  constexpr std::pair<Reduction, double (*)(double, double)> kCombinations[] = {
      {Reduction::kSum, [](double a, double b) { return a + b; }},
      {Reduction::kMax, [](double a, double b) { return std::max(a, b); }},
      {Reduction::kMin, [](double a, double b) { return std::min(a, b); }},
      {Reduction::kProd, [](double a, double b) { return a * b; }}};
  for (const auto& [reduction, combine] : kCombinations) {
    CheckAccumulation<float>(reduction, combine);
    CheckAccumulation<int32_t>(reduction, combine);
    CheckAccumulation<BFloat16>(reduction, combine);
    CheckAccumulation<Float16>(reduction, combine);
  }
}

TEST(Accumulate, KeepsWhatIsNotANumber) {
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kProd}) {
    for (const bool is_part : {false, true}) {
      const Placed<float> total(std::vector<float>{is_part ? 1.0f : std::nanf("")}, 0);
      const Placed<float> part(std::vector<float>{is_part ? std::nanf("") : 1.0f}, 0);
      Accumulate<float>(reduction, false, part, 1, total);
      EXPECT_TRUE(std::isnan(total.Values()[0]));
    }
  }
}

}  // namespace
}  // namespace cleave::runtime
