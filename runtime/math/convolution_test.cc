// Compares convolutions with loops in double, for every implementation: whole images and every piece of some, with
// padding at either end, at both or at none.
#include "runtime/math/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/device_vector.h"
#include "runtime/math/testing.h"

namespace cleave::runtime {
namespace {

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
template <typename Visit>
void ForEachProduct(const ConvolutionShape& s, Visit visit) {
  if (s.channels == 0 || s.filter_channels == 0) return;
  const int64_t group_filters = s.filters / (s.channels / s.filter_channels);
  for (int64_t y = 0; y < ElementsOfY(s); ++y) {
    const int64_t j = y % s.columns.output.size;
    const int64_t i = y / s.columns.output.size % s.rows.output.size;
    const int64_t filter = y / s.columns.output.size / s.rows.output.size % s.filters;
    const int64_t sample = y / s.columns.output.size / s.rows.output.size / s.filters;
    int64_t weight = filter * s.filter_channels * s.rows.kernel * s.columns.kernel;
    for (int64_t c = 0; c < s.filter_channels; ++c) {
      const int64_t plane = sample * s.channels + filter / group_filters * s.filter_channels + c;
      for (int64_t row_tap = 0; row_tap < s.rows.kernel; ++row_tap) {
        const int64_t row = s.rows.At(i, row_tap);
        for (int64_t tap = 0; tap < s.columns.kernel; ++tap, ++weight) {
          const int64_t column = s.columns.At(j, tap);
          if (row < 0 || row >= s.rows.input.size || column < 0 || column >= s.columns.input.size) continue;
          visit((plane * s.rows.input.size + row) * s.columns.input.size + column, weight, y);
        }
      }
    }
  }
}

constexpr float kBehind = 123.0f;

template <typename T>
void ExpectNear(const DeviceVector<T>& result, const std::vector<Exact>& expected, const char* what) {
  // The most that rounding to T may change a value, as a share of it.
  constexpr double kRounding = std::is_same_v<T, BFloat16> ? 1.0 / 256 : std::is_same_v<T, Float16> ? 1.0 / 2048 : 0.0;
  const std::vector<T> actual = result.Values();
  ASSERT_EQ(actual.size(), expected.size() + 1);
  EXPECT_EQ(static_cast<float>(actual.back()), kBehind) << what << " wrote beyond the end";
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<float>(actual[i]), expected[i].value,
                1e-6 * (expected[i].magnitude + 1) + kRounding * std::abs(expected[i].value))
        << what << ", element " << i;
  }
}

// Results are written over other values.
template <typename T>
std::vector<T> Garbage(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count) + 1, static_cast<T>(std::nanf("")));
  values.back() = static_cast<T>(kBehind);
  return values;
}

std::string TextOf(const Sliding& s) {
  return testing::PrintToString(std::vector<int64_t>{s.input.begin, s.input.size, s.output.begin, s.output.size,
                                                     s.kernel, s.stride, s.padding, s.dilation});
}

// Tensors of T and what is made from them.
template <typename T>
struct Example {
  ConvolutionShape shape;
  std::vector<T> x, filter, dy;
  std::vector<Exact> exact_y, exact_dx, exact_dfilter;

  explicit Example(const ConvolutionShape& s)
      : shape(s),
        x(NormalValues<T>(ElementsOfX(s), 1)),
        filter(NormalValues<T>(ElementsOfFilter(s), 2)),
        dy(NormalValues<T>(ElementsOfY(s), 3)),
        exact_y(dy.size()),
        exact_dx(x.size()),
        exact_dfilter(filter.size()) {
    const auto number = [](const std::vector<T>& values, int64_t i) -> double {
      return static_cast<float>(values.data()[i]);
    };
    ForEachProduct(s, [&](int64_t i, int64_t j, int64_t k) {
      exact_y.data()[k].Add(number(x, i) * number(filter, j));
      exact_dx.data()[i].Add(number(dy, k) * number(filter, j));
      exact_dfilter.data()[j].Add(number(dy, k) * number(x, i));
    });
  }

  // Expects the results, as tensors of Out, to be near the exact ones.
  template <typename Out>
  void Check() const {
    const DeviceVector<T> device_x(x), device_filter(filter), device_dy(dy);
    const DeviceVector<Out> y(Garbage<Out>(ElementsOfY(shape)));
    const DeviceVector<Out> dx(Garbage<Out>(ElementsOfX(shape)));
    const DeviceVector<Out> dfilter(Garbage<Out>(ElementsOfFilter(shape)));
    const ConvolutionSizes sizes = {shape.samples, shape.channels, shape.filters, shape.filter_channels};
    Conv2d(sizes, shape.rows, shape.columns, device_x.get(), device_filter.get(), y.get());
    Conv2dGradientInput(sizes, shape.rows, shape.columns, device_dy.get(), device_filter.get(), dx.get());
    Conv2dGradientFilter(sizes, shape.rows, shape.columns, device_dy.get(), device_x.get(), dfilter.get());
    ExpectNear(y, exact_y, "y");
    ExpectNear(dx, exact_dx, "dx");
    ExpectNear(dfilter, exact_dfilter, "dfilter");
  }
};

std::string TextOf(const ConvolutionShape& s) {
  return testing::PrintToString(std::vector<int64_t>{s.samples, s.channels, s.filters, s.filter_channels}) + ", rows " +
         TextOf(s.rows) + ", columns " + TextOf(s.columns);
}

void CheckFloat(const ConvolutionShape& s) {
  SCOPED_TRACE(TextOf(s));
  Example<float>(s).Check<float>();
}

template <typename Narrow>
void CheckNarrow(const ConvolutionShape& s) {
  SCOPED_TRACE(testing::Message() << TextOf(s) << (std::is_same_v<Narrow, Float16> ? " f16" : " bf16"));
  const Example<Narrow> example(s);
  {
    SCOPED_TRACE("to f32");
    example.template Check<float>();
  }
  example.template Check<Narrow>();
}

void Check(const ConvolutionShape& s) {
  CheckFloat(s);
  CheckNarrow<BFloat16>(s);
  CheckNarrow<Float16>(s);
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
  // Some places see nothing but padding, and some elements are seen by no place.
  Check({1, 2, 3, 2, Whole(3, {.kernel = 2, .padding = 3}), Whole(4, {.kernel = 1, .stride = 3, .padding = 2})});
}

// So many samples that an implementation may take them in parts.
TEST(ConvolutionTest, ManySamples) {
  const Sliding single = {.kernel = 1};
  Check({60, 2, 3, 2, Whole(64, single), Whole(64, single)});
}

TEST(ConvolutionTest, Groups) {
  const Sliding padded = {.kernel = 3, .padding = 1};
  Check({2, 6, 4, 3, Whole(5, padded), Whole(4, padded)});
  Check({2, 16, 32, 8, Whole(6, padded), Whole(6, {.kernel = 3, .stride = 2})});
  Check({2, 8, 8, 1, Whole(5, padded), Whole(4, padded)});
}

// Every piece of a rank: of the places with the elements they look at, and of the elements with the places that look at
// them.
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
        CheckFloat({2, 3, 4, 3, rows, columns});
        CheckFloat({2, 3, 4, 3, columns, rows});
        rows.input = Piece(whole.input.size, pieces, i);
        rows.output = output.Of(rows.input);
        CheckFloat({2, 16, 16, 16, rows, columns});
        CheckFloat({1, 2, 2, 2, rows, rows});
        if (pieces == 3) CheckNarrow<BFloat16>({2, 4, 4, 2, rows, columns});
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
