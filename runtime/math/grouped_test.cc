// Compares products by groups with sums in double, for every implementation.
#include "runtime/math/grouped.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/device_vector.h"
#include "runtime/device/float16.h"
#include "runtime/math/testing.h"

namespace cleave::runtime {
namespace {

enum class Order { kByGroup, kMixed };

// Numbers of groups, some of which have no matrix.
std::vector<int32_t> RandomGroups(const GroupedShape& s, Order order, std::mt19937& random) {
  const auto first = static_cast<int32_t>(s.first_group);
  std::uniform_int_distribution<int32_t> uniform(first - 1, first + static_cast<int32_t>(s.groups));
  std::vector<int32_t> groups(static_cast<size_t>(s.rows));
  for (int32_t& group : groups) group = std::min(uniform(random), uniform(random));
  if (order == Order::kByGroup) std::sort(groups.begin(), groups.end());
  return groups;
}

// An element of the result: the sum of its terms, and of their magnitudes, which bounds the rounding.
struct Exact {
  double value = 0;
  double magnitude = 0;

  void Add(double term) {
    value += term;
    magnitude += std::abs(term);
  }
};

template <typename T>
double Rounding(double value) {
  const double share = std::is_same_v<T, BFloat16> ? 1.0 / 256 : std::is_same_v<T, Float16> ? 1.0 / 2048 : 0.0;
  return share * std::abs(value);
}

constexpr float kBehind = 123.0f;

template <typename Out>
void ExpectElements(const DeviceVector<Out>& y, const std::vector<Exact>& expected) {
  const std::vector<Out> values = y.Values();
  ASSERT_EQ(values.size(), expected.size() + 1);
  EXPECT_EQ(static_cast<float>(values.back()), kBehind) << "wrote beyond the end";
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(values[i]), expected[i].value,
                1e-6 * (expected[i].magnitude + 4) + Rounding<Out>(expected[i].value))
        << "at " << i;
  }
}

template <typename Out>
DeviceVector<Out> Room(size_t count) {
  return DeviceVector<Out>(std::vector<Out>(count + 1, static_cast<Out>(kBehind)));
}

template <typename In, typename Out>
void ExpectProducts(const GroupedShape& s, Order order, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<In> x = NormalValues<In>(s.rows * s.k, random);
  const std::vector<In> weights = NormalValues<In>(s.groups * s.k * s.n, random);
  const std::vector<In> b = NormalValues<In>(s.rows * s.n, random);
  const std::vector<int32_t> groups = RandomGroups(s, order, random);
  std::vector<Exact> products(static_cast<size_t>(s.rows * s.n));
  std::vector<Exact> sums(static_cast<size_t>(s.groups * s.k * s.n));
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t group = groups[static_cast<size_t>(r)] - s.first_group;
    if (group < 0 || group >= s.groups) continue;
    for (int64_t i = 0; i < s.k; ++i) {
      const auto factor = static_cast<double>(x[static_cast<size_t>(r * s.k + i)]);
      for (int64_t j = 0; j < s.n; ++j) {
        const int64_t inside = s.transpose_b ? j * s.k + i : i * s.n + j;
        products[static_cast<size_t>(r * s.n + j)].Add(
            factor * static_cast<double>(weights[static_cast<size_t>(group * s.k * s.n + inside)]));
        sums[static_cast<size_t>((group * s.k + i) * s.n + j)].Add(
            factor * static_cast<double>(b[static_cast<size_t>(r * s.n + j)]));
      }
    }
  }
  const DeviceVector<In> device_x(x), device_weights(weights), device_b(b);
  const DeviceVector<int32_t> device_groups(groups);
  const DeviceVector<Out> y = Room<Out>(products.size());
  GroupedMatMul(s, device_x.get(), device_weights.get(), device_groups.get(), y.get());
  ExpectElements(y, products);
  const DeviceVector<float> sum = Room<float>(sums.size());
  GroupedMatMulSum(s, device_x.get(), device_b.get(), device_groups.get(), sum.get());
  ExpectElements(sum, sums);
}

TEST(GroupedMatMul, EqualsTheSums) {
  const GroupedShape shapes[] = {
      {.rows = 1, .k = 1, .n = 1, .groups = 1},
      {.rows = 37, .k = 5, .n = 7, .groups = 3},
      {.rows = 70, .k = 40, .n = 33, .groups = 4, .first_group = 2},
      {.rows = 90, .k = 20, .n = 65, .groups = 9, .transpose_b = true},
      {.rows = 0, .k = 4, .n = 4, .groups = 2},
      {.rows = 9, .k = 0, .n = 4, .groups = 2},
      {.rows = 9, .k = 4, .n = 0, .groups = 2},
      {.rows = 9, .k = 4, .n = 3, .groups = 0, .first_group = 1},
  };
  unsigned seed = 0;
  for (const GroupedShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.rows << " rows, " << shape.k << " x " << shape.n << ", " << shape.groups
                                    << " groups");
    ExpectProducts<float, float>(shape, Order::kByGroup, ++seed);
    ExpectProducts<float, float>(shape, Order::kMixed, ++seed);
    ExpectProducts<BFloat16, BFloat16>(shape, Order::kMixed, ++seed);
    ExpectProducts<BFloat16, float>(shape, Order::kByGroup, ++seed);
    ExpectProducts<Float16, Float16>(shape, Order::kByGroup, ++seed);
    ExpectProducts<Float16, float>(shape, Order::kMixed, ++seed);
  }
}

}  // namespace
}  // namespace cleave::runtime
