// Compares the largest elements of slices by number with loops.
#include "runtime/kernels/segments.h"

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

TEST(SegmentsTest, TheFirstOfTheLargest) {
  for (const int64_t inner : {1, 3, 40}) {
    const RowIndexing indexing = {.outer = 2, .count = 50, .rows = 4, .inner = inner, .first_row = 1, .batch = 3};
    constexpr int kFirstSlice = 7;
    std::vector<int32_t> numbers;
    for (int i = 0; i < 150; ++i) numbers.push_back((i * 7 + i / 11) % 6);
    std::vector<float> x = RandomValues(300 * inner, 5);
    for (float& value : x) value = std::round(4 * value);  // So that some are equal.
    const std::vector<float> dy = RandomValues(24 * inner, 6);
    std::vector<double> y(dy.size(), -2.5), dx(x.size(), 0);
    std::vector<int32_t> first(dy.size(), 2147483647);
    const auto row_of = [&](size_t n) {
      const int64_t place = static_cast<int64_t>(n) / inner, o = place / 50;
      const int64_t row = numbers[static_cast<size_t>(o / 2 * 50 + place % 50)] - 1;
      return row < 0 || row >= 4 ? -1 : (o * 4 + row) * inner + static_cast<int64_t>(n) % inner;
    };
    for (const bool again : {false, true}) {
      for (size_t n = x.size(); n-- > 0;) {
        if (row_of(n) < 0) continue;
        const auto row = static_cast<size_t>(row_of(n));
        y[row] = std::max<double>(y[row], x[n]);
        if (again && x[n] == y[row])
          first[row] = static_cast<int32_t>(kFirstSlice + static_cast<int64_t>(n) / inner % 50);
      }
    }
    for (size_t n = 0; n < x.size(); ++n) {
      if (row_of(n) < 0) continue;
      const auto row = static_cast<size_t>(row_of(n));
      if (first[row] == kFirstSlice + static_cast<int64_t>(n) / inner % 50) dx[n] = dy[row];
    }
    const Placed<float> of_x(x), of_dy(dy), largest(24 * inner), of_dx(300 * inner);
    const Placed<int32_t> of_numbers(numbers), places(24 * inner);
    SegmentMax(of_x, of_numbers, indexing, -2.5f, largest);
    ExpectNear(largest.Values(), y, 0);
    SegmentFirst(of_x, largest, of_numbers, indexing, kFirstSlice, places);
    EXPECT_EQ(places.Values(), first);
    const Placed<int32_t> own(24 * inner);
    SegmentArgmax(of_x, of_numbers, indexing, -2.5f, own);
    for (int32_t& place : first) place = place == 2147483647 ? place : place - kFirstSlice;
    EXPECT_EQ(own.Values(), first);
    SegmentMaxGradient(of_dy, places, of_numbers, indexing, kFirstSlice, of_dx);
    ExpectNear(of_dx.Values(), dx, 0);
  }
}

TEST(SegmentsTest, NothingAndNoNumbers) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Placed<float> x({-infinity, 3.0f, -nan, infinity, -0.5f, 9.0f}), y(5);
  const Placed<int32_t> numbers({0, 1, 1, 2, 3, 8});
  SegmentMax(x, numbers, {.count = 6, .rows = 5}, -1e9f, y);
  const std::vector<float> values = y.Values();
  EXPECT_EQ(values[0], -1e9f);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], infinity);
  EXPECT_EQ(values[3], -0.5f);
  EXPECT_EQ(values[4], -1e9f);
  const Placed<int32_t> first(5);
  SegmentArgmax(x, numbers, {.count = 6, .rows = 5}, -1e9f, first);
  EXPECT_EQ(first.Values(), (std::vector<int32_t>{2147483647, 2, 3, 4, 2147483647}));
  const Placed<float> nothing(int64_t{0});
  SegmentMax(nothing, numbers, {.count = 6, .rows = 5, .inner = 0}, 0.0f, nothing);
}

}  // namespace
}  // namespace cleave::runtime
