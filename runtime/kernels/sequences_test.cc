// Compares running sums and rotary positions with loops in double.
#include "runtime/kernels/sequences.h"

#include <cmath>
#include <random>
#include <vector>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

TEST(SequencesTest, RunningSumsInBothDirections) {
  const std::vector<std::vector<int64_t>> shapes = {{1}, {12}, {1000}, {3, 100}, {100, 3}, {2, 70, 9}, {2, 3, 2}};
  uint32_t seed = 0;
  for (const std::vector<int64_t>& shape : shapes) {
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(shape) << " along " << axis);
      int64_t count = 1, inner = 1;
      for (const int64_t size : shape) count *= size;
      for (size_t d = static_cast<size_t>(axis) + 1; d < shape.size(); ++d) inner *= shape[d];
      const int64_t length = shape[static_cast<size_t>(axis)];
      const std::vector<float> x = RandomValues(count, ++seed);
      std::vector<double> forward(x.begin(), x.end()), backward = forward;
      for (int64_t i = 0; i < count; ++i) {
        if (i / inner % length > 0) forward[static_cast<size_t>(i)] += forward[static_cast<size_t>(i - inner)];
        const int64_t j = count - 1 - i;
        if (j / inner % length + 1 == length) continue;
        backward[static_cast<size_t>(j)] += backward[static_cast<size_t>(j + inner)];
      }
      const Placed<float> placed(x);
      const Placed<float> y(count);
      Cumsum(placed, shape, axis, y);
      ExpectNear(y.Values(), forward, 1e-5);
      ReverseCumsum(placed, shape, axis, y);
      ExpectNear(y.Values(), backward, 1e-5);
    }
  }
  const Placed<float> nothing(int64_t{0});
  Cumsum(nothing, {3, 0}, 0, nothing);
}

TEST(SequencesTest, RunsOfEqualNeighbours) {
  std::mt19937 random(7);
  for (const int64_t length : {1, 2, 31, 32, 33, 64, 100, 1000}) {
    constexpr int64_t kRows = 3;
    std::vector<int32_t> x(static_cast<size_t>(kRows * length)), begins(x), ends(x);
    for (int32_t& value : x)
      value = random() % 8 == 0 || &value == x.data() ? static_cast<int32_t>(random() % 3) : *(&value - 1);
    for (int64_t i = 0; i < kRows * length; ++i) {
      const int64_t row = i / length * length;
      const auto value = [&](int64_t at) { return x[static_cast<size_t>(at)]; };
      int64_t begin = i, end = i + 1;
      while (begin > row && value(begin - 1) == value(i)) --begin;
      while (end < row + length && value(end) == value(i)) ++end;
      begins[static_cast<size_t>(i)] = static_cast<int32_t>(begin - row);
      ends[static_cast<size_t>(i)] = static_cast<int32_t>(end - row);
    }
    const Placed<int32_t> placed(x), y(kRows * length);
    RunBegins(placed, kRows, length, y);
    EXPECT_EQ(y.Values(), begins) << length;
    RunEnds(placed, kRows, length, y);
    EXPECT_EQ(y.Values(), ends) << length;
  }
}

// Turning keeps lengths, and turning back gives the first values again. A piece turns like its rows of the whole
// tensor.
TEST(SequencesTest, RopeKnowsItsPlace) {
  const std::vector<float> x = RandomValues(2 * 5 * 3 * 4, 9);
  const Placed<float> placed(x);
  const Placed<float> turned(static_cast<int64_t>(x.size()));
  Rope(placed, {2, 5, 3, 4}, {.axis = 1, .theta = 100.0}, turned);
  const std::vector<float> y = turned.Values();
  for (size_t row = 0; row < x.size(); row += 4) {
    EXPECT_NEAR(x[row] * x[row] + x[row + 2] * x[row + 2], y[row] * y[row] + y[row + 2] * y[row + 2], 1e-5);
  }
  // At position 1 the first pair turns by 1, the second by 100^(-2/4) = 0.1.
  EXPECT_NEAR(y[12], x[12] * std::cos(1.0f) - x[14] * std::sin(1.0f), 1e-6);
  EXPECT_NEAR(y[15], x[15] * std::cos(0.1f) + x[13] * std::sin(0.1f), 1e-6);
  const Placed<float> piece(2 * 3 * 4);
  Rope(placed.get() + 36, {2, 3, 4}, {.axis = 0, .first_position = 3, .theta = 100.0}, piece);
  EXPECT_EQ(piece.Values(), std::vector<float>(y.begin() + 36, y.begin() + 60));
  const Placed<int32_t> places(std::vector<int32_t>{3, 4});
  const Placed<float> named(2 * 3 * 4);
  Rope(placed.get() + 36, {2, 3, 4}, {.axis = 0, .positions = places, .theta = 100.0}, named);
  EXPECT_EQ(named.Values(), piece.Values());
  // Places 0 and 1 of the first sample, 1 and 2 of the second.
  const Placed<int32_t> own(std::vector<int32_t>{0, 1, 1, 2});
  std::vector<float> two(x.begin(), x.begin() + 24);
  two.insert(two.end(), x.begin() + 72, x.begin() + 96);
  const Placed<float> samples(two), by_sample(48);
  Rope(samples, {2, 2, 3, 4}, {.axis = 1, .positions = own, .theta = 100.0, .batch = 2}, by_sample);
  std::vector<float> expected(y.begin(), y.begin() + 24);
  expected.insert(expected.end(), y.begin() + 72, y.begin() + 96);
  EXPECT_EQ(by_sample.Values(), expected);
  const Placed<float> back(static_cast<int64_t>(x.size()));
  Rope(turned, {2, 5, 3, 4}, {.axis = 1, .theta = 100.0, .inverse = true}, back);
  ExpectNear(back.Values(), std::vector<double>(x.begin(), x.end()), 1e-5);
}

}  // namespace
}  // namespace cleave::runtime
