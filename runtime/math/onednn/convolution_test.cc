// Convolutions against loops in double: whole images and every piece of some, with padding at either end, at both or at
// none.
#include "runtime/math/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace cleave::runtime {
namespace {

using Values = std::vector<float>;

struct ConvolutionShape {
  int64_t samples, channels, filters, filter_channels;
  Sliding rows, columns;
};

// A value and the sum of the magnitudes it is made of, which bounds the rounding.
struct Exact {
  double value = 0;
  double magnitude = 0;

  void Add(double product) {
    value += product;
    magnitude += std::abs(product);
  }
};

int64_t ElementsOfX(const ConvolutionShape& s) {
  return s.samples * s.channels * s.rows.input.size * s.columns.input.size;
}
int64_t ElementsOfFilter(const ConvolutionShape& s) {
  return s.filters * s.filter_channels * s.rows.kernel * s.columns.kernel;
}
int64_t ElementsOfY(const ConvolutionShape& s) {
  return s.samples * s.filters * s.rows.output.size * s.columns.output.size;
}

// Calls visit(x, filter, y), indexes of elements, for all products.
void ForEachProduct(const ConvolutionShape& s, const std::function<void(size_t, size_t, size_t)>& visit) {
  if (s.channels == 0 || s.filter_channels == 0) return;
  const int64_t groups = s.channels / s.filter_channels;
  std::vector<int64_t> at(7, 0);
  const std::vector<int64_t> sizes = {s.samples,         s.filters,     s.rows.output.size, s.columns.output.size,
                                      s.filter_channels, s.rows.kernel, s.columns.kernel};
  for (const int64_t size : sizes) {
    if (size == 0) return;
  }
  while (true) {
    const auto [n, o, i, j, c, row_tap, tap] = std::tuple(at[0], at[1], at[2], at[3], at[4], at[5], at[6]);
    const int64_t row = s.rows.At(i, row_tap);
    const int64_t column = s.columns.At(j, tap);
    if (row >= 0 && row < s.rows.input.size && column >= 0 && column < s.columns.input.size) {
      const int64_t channel = o / (s.filters / groups) * s.filter_channels + c;
      const int64_t x = ((n * s.channels + channel) * s.rows.input.size + row) * s.columns.input.size + column;
      const int64_t filter = ((o * s.filter_channels + c) * s.rows.kernel + row_tap) * s.columns.kernel + tap;
      const int64_t y = ((n * s.filters + o) * s.rows.output.size + i) * s.columns.output.size + j;
      visit(static_cast<size_t>(x), static_cast<size_t>(filter), static_cast<size_t>(y));
    }
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

constexpr float kBehind = 123.0f;

Values Random(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Values values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

void ExpectNear(const Values& actual, const std::vector<Exact>& expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size() + 1);
  EXPECT_EQ(actual.back(), kBehind) << what << " wrote beyond the end";
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i].value, 1e-6 * (expected[i].magnitude + 1)) << what << ", element " << i;
  }
}

// Results are written over garbage.
Values Garbage(int64_t count) {
  Values values(static_cast<size_t>(count) + 1, std::nanf(""));
  values.back() = kBehind;
  return values;
}

std::string TextOf(const Sliding& s) {
  return testing::PrintToString(std::vector<int64_t>{s.input.begin, s.input.size, s.output.begin, s.output.size,
                                                     s.kernel, s.stride, s.padding, s.dilation});
}

void Check(const ConvolutionShape& s) {
  SCOPED_TRACE(testing::Message() << s.samples << " samples, " << s.channels << " channels, " << s.filters
                                  << " filters of " << s.filter_channels << ", rows " << TextOf(s.rows) << ", columns "
                                  << TextOf(s.columns));
  const Values x = Random(ElementsOfX(s), 1);
  const Values filter = Random(ElementsOfFilter(s), 2);
  const Values dy = Random(ElementsOfY(s), 3);
  Values y = Garbage(ElementsOfY(s));
  Values dx = Garbage(ElementsOfX(s));
  Values dfilter = Garbage(ElementsOfFilter(s));
  const ConvolutionSizes sizes = {s.samples, s.channels, s.filters, s.filter_channels};
  Conv2d(sizes, s.rows, s.columns, x.data(), filter.data(), y.data());
  Conv2dGradientInput(sizes, s.rows, s.columns, dy.data(), filter.data(), dx.data());
  Conv2dGradientFilter(sizes, s.rows, s.columns, dy.data(), x.data(), dfilter.data());
  std::vector<Exact> exact_y(dy.size());
  std::vector<Exact> exact_dx(x.size());
  std::vector<Exact> exact_dfilter(filter.size());
  ForEachProduct(s, [&](size_t at_x, size_t at_filter, size_t at_y) {
    exact_y[at_y].Add(static_cast<double>(x[at_x]) * filter[at_filter]);
    exact_dx[at_x].Add(static_cast<double>(dy[at_y]) * filter[at_filter]);
    exact_dfilter[at_filter].Add(static_cast<double>(dy[at_y]) * x[at_x]);
  });
  ExpectNear(y, exact_y, "y");
  ExpectNear(dx, exact_dx, "dx");
  ExpectNear(dfilter, exact_dfilter, "dfilter");
}

// The whole of a dimension of `input` elements.
Sliding Whole(int64_t input, Sliding sliding) {
  const int64_t span = sliding.dilation * (sliding.kernel - 1) + 1;
  sliding.input = {0, input};
  sliding.output = {0, (input + 2 * sliding.padding - span) / sliding.stride + 1};
  return sliding;
}

TEST(ConvolutionTest, WholeImages) {
  const Sliding three = {.kernel = 3};
  const Sliding padded = {.kernel = 3, .padding = 1};
  Check({1, 1, 1, 1, Whole(3, three), Whole(3, three)});
  Check({2, 1, 32, 1, Whole(28, three), Whole(28, three)});
  Check({3, 32, 16, 32, Whole(9, padded), Whole(7, padded)});
  Check({2, 5, 7, 5, Whole(6, {.kernel = 5, .padding = 2}), Whole(8, {.kernel = 1})});
  Check({2, 16, 16, 16, Whole(14, {.kernel = 3, .stride = 2, .padding = 1}), Whole(13, {.kernel = 2, .stride = 3})});
  Check({2, 3, 4, 3, Whole(11, {.kernel = 3, .padding = 2, .dilation = 2}), Whole(9, {.kernel = 2, .dilation = 3})});
  // Places that see nothing but padding, and elements at which no place looks.
  Check({1, 2, 3, 2, Whole(3, {.kernel = 2, .padding = 3}), Whole(4, {.kernel = 1, .stride = 3, .padding = 2})});
}

TEST(ConvolutionTest, Groups) {
  const Sliding padded = {.kernel = 3, .padding = 1};
  Check({2, 6, 4, 3, Whole(5, padded), Whole(4, padded)});
  Check({2, 16, 32, 8, Whole(6, padded), Whole(6, {.kernel = 3, .stride = 2})});
  Check({2, 8, 8, 1, Whole(5, padded), Whole(4, padded)});
}

// Every piece of the images of a rank, of the places and the elements they look at, and of elements and the places that
// look at them.
TEST(ConvolutionTest, Pieces) {
  const Sliding columns = Whole(5, {.kernel = 3, .padding = 1});
  for (const Sliding& whole :
       {Whole(12, {.kernel = 3, .padding = 1}), Whole(13, {.kernel = 2, .stride = 3, .padding = 1}),
        Whole(9, {.kernel = 3, .stride = 2, .padding = 3, .dilation = 2}), Whole(12, {.kernel = 1, .stride = 4})}) {
    const int64_t span = whole.dilation * (whole.kernel - 1) + 1;
    const Window input = {.elements = whole.input.size,
                          .outer = whole.output.size,
                          .numerator = whole.stride,
                          .first = -whole.padding,
                          .last = span - 1 - whole.padding};
    const Window output = {.elements = whole.output.size,
                           .outer = whole.input.size,
                           .denominator = whole.stride,
                           .first = whole.padding - span + whole.stride,
                           .last = whole.padding};
    for (const int64_t pieces : {1, 2, 3, 5}) {
      for (int64_t i = 0; i < pieces; ++i) {
        Sliding rows = whole;
        rows.output = Piece(whole.output.size, pieces, i);
        rows.input = input.Of(rows.output);
        Check({2, 3, 4, 3, rows, columns});
        Check({2, 3, 4, 3, columns, rows});
        rows.input = Piece(whole.input.size, pieces, i);
        rows.output = output.Of(rows.input);
        Check({2, 16, 16, 16, rows, columns});
        Check({1, 2, 2, 2, rows, rows});
      }
    }
  }
}

TEST(ConvolutionTest, NothingToDo) {
  const Sliding rows = Whole(5, {.kernel = 3});
  Check({0, 2, 3, 2, rows, rows});
  Check({2, 0, 3, 0, rows, rows});
  Check({2, 0, 0, 1, rows, rows});
  Check({2, 3, 0, 3, rows, rows});
  Sliding none = rows;
  none.output = {0, 0};
  Check({2, 2, 3, 2, none, rows});
  none.input = {0, 0};
  Check({2, 2, 3, 2, rows, none});
}

}  // namespace
}  // namespace cleave::runtime
