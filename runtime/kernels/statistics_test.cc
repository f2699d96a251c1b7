#include "runtime/kernels/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

template <typename T>
Statistics Of(const std::vector<T>& values) {
  const Placed<T> there(values);
  return StatisticsOf(static_cast<const T*>(there), static_cast<int64_t>(values.size()));
}

TEST(StatisticsOf, NumbersOfAnyCount) {
  for (const int64_t count : {int64_t{1}, int64_t{7}, int64_t{255}, int64_t{4097}, int64_t{100'003}}) {
    std::vector<float> values;
    double squares = 0, zeros = 0, least = 100, most = -100;
    for (int64_t i = 0; i < count; ++i) {
      const float value = static_cast<float>((i * 37) % 101 - 50) / 8;
      values.push_back(value);
      squares += static_cast<double>(value) * value;
      zeros += value == 0;
      least = std::fmin(least, value);
      most = std::fmax(most, value);
    }
    const Statistics found = Of(values);
    EXPECT_EQ(found.count, static_cast<double>(count));
    EXPECT_NEAR(found.squares, squares, 1e-12 * squares + 1e-300) << count;
    EXPECT_EQ(found.zeros, zeros) << count;
    EXPECT_EQ(found.least, least) << count;
    EXPECT_EQ(found.most, most) << count;
  }
}

TEST(StatisticsOf, OtherTypesAndNoElements) {
  const Statistics integers = Of(std::vector<int32_t>{3, 0, -4});
  EXPECT_EQ(integers.squares, 25);
  EXPECT_EQ(integers.zeros, 1);
  EXPECT_EQ(integers.least, -4);
  EXPECT_EQ(Of(std::vector<int32_t>{16'777'217}).most, 16'777'217);  // A float would round it.
  const Statistics halves = Of(std::vector<BFloat16>{BFloat16(0.5f), BFloat16(-1.5f)});
  EXPECT_EQ(halves.squares, 2.5);
  EXPECT_EQ(halves.most, 0.5);
  Statistics all = StatisticsOf(static_cast<const float*>(nullptr), 0);
  EXPECT_EQ(all.count, 0);
  all.Add(halves);
  EXPECT_EQ(all.least, -1.5);
}

TEST(StatisticsOf, KeepsANumberThatIsNone) {
  std::vector<float> values(10'000, 1.0f);
  values[5000] = std::numeric_limits<float>::quiet_NaN();
  const Statistics found = Of(values);
  EXPECT_TRUE(std::isnan(found.squares));
  EXPECT_TRUE(std::isnan(found.least));
  EXPECT_TRUE(std::isnan(found.most));
}

}  // namespace
}  // namespace cleave::runtime
