// Compares ranking with sorting, with equal elements, infinities and NaNs.
#include "runtime/kernels/ranking.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Only few different values, so that equal ones are compared.
std::vector<float> ValuesThatMeet(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> uniform(-20, 20);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    const int number = uniform(random);
    value = number == 20 ? kInfinity : number == -20 ? -kInfinity : number == 19 ? std::nanf("") : number;
  }
  return values;
}

bool ComesFirst(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

// Positions of the elements of a line, in the order of their ranks.
std::vector<int32_t> Sorted(const std::vector<float>& line) {
  std::vector<int32_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return ComesFirst(line[static_cast<size_t>(a)], line[static_cast<size_t>(b)]);
  });
  return order;
}

// Expects equal values; NaNs are equal to each other.
void ExpectSame(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])))
        << "element " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

TEST(RankingTest, ArgMaxAndFirstEqualAlongEveryDimension) {
  const std::vector<std::vector<int64_t>> shapes = {{1}, {700}, {5, 40}, {40, 5}, {3, 300, 2}, {2, 6, 70}, {4, 1, 3}};
  uint32_t seed = 0;
  for (const std::vector<int64_t>& shape : shapes) {
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(shape) << " along " << axis);
      int64_t outer = 1, inner = 1;
      for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
        if (d != axis) (d < axis ? outer : inner) *= shape[static_cast<size_t>(d)];
      }
      const int64_t length = shape[static_cast<size_t>(axis)];
      const std::vector<float> x = ValuesThatMeet(outer * length * inner, ++seed);
      std::vector<int32_t> best, equal;
      std::vector<float> wanted;
      for (int64_t n = 0; n < outer * inner; ++n) {
        std::vector<float> line;
        for (int64_t i = 0; i < length; ++i) {
          line.push_back(x[static_cast<size_t>((n / inner * length + i) * inner + n % inner)]);
        }
        best.push_back(Sorted(line)[0]);
        wanted.push_back(n % 3 == 0 ? line.back() : static_cast<float>(n % 7));
        int32_t first = 0;
        const auto is_wanted = [&](float value) {
          return value == wanted.back() || (std::isnan(value) && std::isnan(wanted.back()));
        };
        while (first < length && !is_wanted(line[static_cast<size_t>(first)])) ++first;
        equal.push_back(first < length ? first + 100 : kNoIndex);
      }
      const Placed<float> placed(x);
      const Placed<int32_t> index(outer * inner);
      ArgMax(placed, shape, axis, index);
      EXPECT_EQ(index.Values(), best);
      FirstEqual(placed, Placed<float>(wanted), shape, axis, 100, index);
      EXPECT_EQ(index.Values(), equal);
    }
  }
}

TEST(RankingTest, FirstOfRows) {
  uint32_t seed = 0;
  for (const int64_t columns : {1, 4, 31, 300, 1000}) {
    for (const int64_t k : {int64_t{1}, int64_t{5}, int64_t{31}}) {
      if (k > columns) continue;
      SCOPED_TRACE(testing::Message() << k << " of " << columns);
      constexpr int64_t kRows = 3;
      const std::vector<float> x = ValuesThatMeet(kRows * columns, ++seed);
      std::vector<float> values;
      std::vector<int32_t> indices;
      for (int64_t row = 0; row < kRows; ++row) {
        const std::vector<float> line(x.begin() + row * columns, x.begin() + (row + 1) * columns);
        const std::vector<int32_t> order = Sorted(line);
        for (int64_t i = 0; i < k; ++i) {
          indices.push_back(order[static_cast<size_t>(i)]);
          values.push_back(line[static_cast<size_t>(indices.back())]);
        }
      }
      const Placed<float> placed(x);
      const Placed<float> y(kRows * k);
      const Placed<int32_t> at(kRows * k);
      TopK(placed, kRows, columns, k, y);
      TopKIndices(placed, kRows, columns, k, at);
      ExpectSame(y.Values(), values);
      EXPECT_EQ(at.Values(), indices);
    }
  }
}

// However the row is cut and whichever rank holds the pieces, the first of the candidates are the first of the row.
TEST(RankingTest, CandidatesHoldTheFirstOfTheWhole) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kElements = 11;
  constexpr int64_t kFirst = 4;
  const Placed<float> x(ValuesThatMeet(kRows * kElements, 9));
  const Placed<int32_t> expected(kRows * kFirst);
  TopKIndices(x, kRows, kElements, kFirst, expected);
  for (const int64_t pieces : {1, 2, 3, 5, 11}) {
    const Placed<float> values(kRows * pieces * kFirst);
    const Placed<int32_t> indices(kRows * pieces * kFirst);
    TopKCandidates(x, kRows, {kElements, pieces, 0, pieces}, kFirst, values);
    TopKCandidateIndices(x, kRows, {kElements, pieces, 0, pieces}, kFirst, indices);
    const Placed<int32_t> first(kRows * kFirst);
    TopKMerge(values, indices, kRows, pieces * kFirst, kFirst, first);
    EXPECT_EQ(first.Values(), expected.Values()) << pieces << " pieces";
  }
}

// Elements 4 to 7 of 11, the third of five pieces and the fourth, of two elements each.
TEST(RankingTest, ShortPiecesAreFilledUp) {
  const Placed<float> x({1.0f, 3.0f, 8.0f, 2.0f});
  const Placed<float> values(6);
  const Placed<int32_t> indices(6);
  TopKCandidates(x, 1, {11, 5, 2, 2}, 3, values);
  TopKCandidateIndices(x, 1, {11, 5, 2, 2}, 3, indices);
  EXPECT_EQ(values.Values(), (std::vector<float>{3.0f, 1.0f, -kInfinity, 8.0f, 2.0f, -kInfinity}));
  EXPECT_EQ(indices.Values(), (std::vector<int32_t>{5, 4, kNoIndex, 6, 7, kNoIndex}));
}

TEST(RankingTest, GradientsGoBack) {
  const Placed<float> dy({7.0f, 7.0f, 3.0f, 1.0f, 2.0f, 4.0f});
  const Placed<float> dx(8);
  TopKGradient(dy, Placed<int32_t>({9, 5, 6, 8, kNoIndex, 4}), 2, 3, 5, 4, dx);
  EXPECT_EQ(dx.Values(), (std::vector<float>{7.0f, 3.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f}));
}

}  // namespace
}  // namespace cleave::runtime
