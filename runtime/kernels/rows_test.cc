#include "runtime/kernels/rows.h"

#include <cmath>
#include <limits>
#include <string>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

constexpr float kEpsilon = 1e-5f;

// A matrix and what is known of its rows.
struct Matrix {
  int64_t rows;
  int64_t columns;
  std::vector<float> values;

  double At(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
};

// Fills a result of a matrix's shape by f(row, column).
template <typename Function>
std::vector<double> Map(const Matrix& x, Function f) {
  std::vector<double> y;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.columns; ++c) y.push_back(f(r, c));
  }
  return y;
}

// The sum over the columns of f(column).
template <typename Function>
double Sum(const Matrix& x, Function f) {
  double sum = 0;
  for (int64_t c = 0; c < x.columns; ++c) sum += f(c);
  return sum;
}

template <typename Function>
std::vector<double> PerRow(const Matrix& x, Function f) {
  std::vector<double> values;
  for (int64_t r = 0; r < x.rows; ++r) values.push_back(f(r));
  return values;
}

std::vector<double> LogSums(const Matrix& x) {
  return PerRow(x, [&](int64_t r) { return std::log(Sum(x, [&](int64_t c) { return std::exp(x.At(r, c)); })); });
}

struct Normals {
  explicit Normals(const Matrix& x) : x(x) {
    const double count = static_cast<double>(x.columns);
    mean = PerRow(x, [&](int64_t r) { return Sum(x, [&](int64_t c) { return x.At(r, c); }) / count; });
    deviation = PerRow(x, [&](int64_t r) {
      const double center = mean[static_cast<size_t>(r)];
      return std::sqrt(Sum(x, [&](int64_t c) { return std::pow(x.At(r, c) - center, 2); }) / count + kEpsilon);
    });
  }
  double At(int64_t r, int64_t c) const {
    return (x.At(r, c) - mean[static_cast<size_t>(r)]) / deviation[static_cast<size_t>(r)];
  }

  const Matrix& x;
  std::vector<double> mean;
  std::vector<double> deviation;
};

struct RowCase {
  int64_t rows;
  int64_t columns;
  int64_t offset;
};

class Rows : public testing::TestWithParam<RowCase> {
 protected:
  Matrix Random(uint32_t seed, float size) const {
    std::vector<float> values = RandomValues(GetParam().rows * GetParam().columns, seed);
    for (float& value : values) value *= size;
    return {GetParam().rows, GetParam().columns, values};
  }
  int64_t rows() const { return GetParam().rows; }
  int64_t columns() const { return GetParam().columns; }
  Placed<float> Place(const std::vector<float>& values) const { return Placed<float>(values, GetParam().offset); }
  Placed<float> Result() const { return Placed<float>(rows() * columns(), GetParam().offset); }
};

TEST_P(Rows, Softmax) {
  const Matrix x = Random(1, 9.0f);
  const std::vector<double> log_sums = LogSums(x);
  const Placed<float> y = Result();
  Softmax(Place(x.values), rows(), columns(), y);
  ExpectNear(y.Values(),
             Map(x, [&](int64_t r, int64_t c) { return std::exp(x.At(r, c) - log_sums[static_cast<size_t>(r)]); }),
             1e-5);
  LogSoftmax(Place(x.values), rows(), columns(), y);
  ExpectNear(y.Values(), Map(x, [&](int64_t r, int64_t c) { return x.At(r, c) - log_sums[static_cast<size_t>(r)]; }),
             1e-5);
}

TEST_P(Rows, SoftmaxGradients) {
  const Matrix y = Random(1, 1.0f);
  const Matrix dy = Random(2, 1.0f);
  const std::vector<double> dots =
      PerRow(y, [&](int64_t r) { return Sum(y, [&](int64_t c) { return y.At(r, c) * dy.At(r, c); }); });
  const std::vector<double> sums = PerRow(y, [&](int64_t r) { return Sum(y, [&](int64_t c) { return dy.At(r, c); }); });
  const Placed<float> dx = Result();
  // The error of sums of numbers of both signs is bounded by the sizes of the numbers.
  const double bound = 1e-5 * std::sqrt(static_cast<double>(columns()));
  SoftmaxGradient(Place(dy.values), Place(y.values), rows(), columns(), dx);
  ExpectNear(dx.Values(),
             Map(y, [&](int64_t r, int64_t c) { return (dy.At(r, c) - dots[static_cast<size_t>(r)]) * y.At(r, c); }),
             bound);
  LogSoftmaxGradient(Place(dy.values), Place(y.values), rows(), columns(), dx);
  ExpectNear(
      dx.Values(),
      Map(y, [&](int64_t r, int64_t c) { return dy.At(r, c) - std::exp(y.At(r, c)) * sums[static_cast<size_t>(r)]; }),
      bound);
}

TEST_P(Rows, LayerNormAndGradients) {
  Matrix x = Random(3, 2.0f);
  for (float& value : x.values) value += 1.0f;
  const Matrix dy = Random(4, 1.0f);
  const std::vector<float> scale = RandomValues(columns(), 5);
  const std::vector<float> shift = RandomValues(columns(), 6);
  const auto scale_at = [&](int64_t c) { return static_cast<double>(scale[static_cast<size_t>(c)]); };
  const Normals normals(x);
  const Placed<float> y = Result();
  LayerNorm(Place(x.values), Place(scale), Place(shift), rows(), columns(), kEpsilon, y);
  ExpectNear(
      y.Values(),
      Map(x, [&](int64_t r, int64_t c) { return normals.At(r, c) * scale_at(c) + shift[static_cast<size_t>(c)]; }),
      1e-5);

  const double count = static_cast<double>(columns());
  const std::vector<double> g =
      PerRow(x, [&](int64_t r) { return Sum(x, [&](int64_t c) { return dy.At(r, c) * scale_at(c); }) / count; });
  const std::vector<double> gn = PerRow(x, [&](int64_t r) {
    return Sum(x, [&](int64_t c) { return dy.At(r, c) * scale_at(c) * normals.At(r, c); }) / count;
  });
  LayerNormGradientInput(Place(dy.values), Place(x.values), Place(scale), rows(), columns(), kEpsilon, y);
  ExpectNear(y.Values(),
             Map(x,
                 [&](int64_t r, int64_t c) {
                   const size_t row = static_cast<size_t>(r);
                   return (dy.At(r, c) * scale_at(c) - g[row] - normals.At(r, c) * gn[row]) / normals.deviation[row];
                 }),
             columns() <= 3 ? 1e-2 : 2e-5);  // With few columns, almost nothing is left of the value.

  std::vector<double> dscale(static_cast<size_t>(columns()));
  for (int64_t r = 0; r < rows(); ++r) {
    for (int64_t c = 0; c < columns(); ++c) dscale[static_cast<size_t>(c)] += dy.At(r, c) * normals.At(r, c);
  }
  const Placed<float> result(columns(), GetParam().offset);
  LayerNormGradientScale(Place(dy.values), Place(x.values), rows(), columns(), kEpsilon, result);
  ExpectNear(result.Values(), dscale, 1e-5 * std::sqrt(static_cast<double>(rows() + 1)));
}

// Widths at the limits of each way in which threads share rows, and places where no vectors can be read.
INSTANTIATE_TEST_SUITE_P(AllWidths, Rows,
                         testing::Values(RowCase{0, 8, 0}, RowCase{5, 0, 0}, RowCase{1, 1, 0}, RowCase{3, 2, 0},
                                         RowCase{5, 7, 0}, RowCase{9, 32, 0}, RowCase{9, 32, 1}, RowCase{6, 255, 0},
                                         RowCase{6, 256, 0}, RowCase{6, 256, 3}, RowCase{6, 260, 0}, RowCase{6, 257, 0},
                                         RowCase{7, 768, 0}, RowCase{3, 1024, 0}, RowCase{3, 1028, 0},
                                         RowCase{3, 1028, 2}, RowCase{2, 4096, 0}, RowCase{2, 4100, 0},
                                         RowCase{2, 4101, 0}, RowCase{700, 3, 0}, RowCase{700, 40, 0},
                                         RowCase{2, 50304, 0}),
                         [](const testing::TestParamInfo<RowCase>& info) {
                           return std::to_string(info.param.rows) + "x" + std::to_string(info.param.columns) + "at" +
                                  std::to_string(info.param.offset);
                         });

TEST(RowGradients, AreThoseOfFiniteDifferences) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kColumns = 7;
  const std::vector<float> x = RandomValues(kRows * kColumns, 1);
  const std::vector<float> dy = RandomValues(kRows * kColumns, 2);
  const std::vector<float> scale = RandomValues(kColumns, 3);
  const Placed<float> shift(RandomValues(kColumns, 4));
  const Placed<float> by_result(dy);
  const Placed<float> result(kRows * kColumns);
  const auto softmax = [&](const std::vector<float>& at) {
    Softmax(Placed<float>(at), kRows, kColumns, result);
    return result.Values();
  };
  SoftmaxGradient(by_result, Placed<float>(softmax(x)), kRows, kColumns, result);
  CheckGradient(softmax, x, dy, result.Values());
  const auto log_softmax = [&](const std::vector<float>& at) {
    LogSoftmax(Placed<float>(at), kRows, kColumns, result);
    return result.Values();
  };
  LogSoftmaxGradient(by_result, Placed<float>(log_softmax(x)), kRows, kColumns, result);
  CheckGradient(log_softmax, x, dy, result.Values());
  const auto layer_norm = [&](const std::vector<float>& at, const std::vector<float>& with) {
    LayerNorm(Placed<float>(at), Placed<float>(with), shift, kRows, kColumns, kEpsilon, result);
    return result.Values();
  };
  LayerNormGradientInput(by_result, Placed<float>(x), Placed<float>(scale), kRows, kColumns, kEpsilon, result);
  CheckGradient([&](const std::vector<float>& at) { return layer_norm(at, scale); }, x, dy, result.Values());
  const Placed<float> dscale(kColumns);
  LayerNormGradientScale(by_result, Placed<float>(x), kRows, kColumns, kEpsilon, dscale);
  CheckGradient([&](const std::vector<float>& with) { return layer_norm(x, with); }, scale, dy, dscale.Values());
}

TEST(RowsOfAttention, MaskedColumnsAreZeroWhereverTheyStand) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  for (const int64_t columns : {4, 9, 600, 6000}) {
    std::vector<float> x(static_cast<size_t>(columns), kMasked);
    x[static_cast<size_t>(columns / 2)] = 5.0f;
    x.back() = 5.0f;
    const Placed<float> y(columns);
    Softmax(Placed<float>(x), 1, columns, y);
    const std::vector<float> values = y.Values();
    EXPECT_EQ(values.front(), 0.0f);
    EXPECT_EQ(values[static_cast<size_t>(columns / 2)], 0.5f);
    EXPECT_EQ(values.back(), 0.5f);
    x.back() = std::nanf("");
    Softmax(Placed<float>(x), 1, columns, y);
    EXPECT_TRUE(std::isnan(y.Values().front()));
  }
}

TEST(RowsOfLargeNumbers, OnlyDifferencesCount) {
  const Placed<float> x({1.0f, 2.0f, 3.0f, 1001.0f, 1002.0f, 1003.0f});
  const Placed<float> y(6);
  Softmax(x, 2, 3, y);
  const std::vector<double> expected = {0.090030573, 0.244728471, 0.665240956, 0.090030573, 0.244728471, 0.665240956};
  ExpectNear(y.Values(), expected, 1e-6);
}

}  // namespace
}  // namespace cleave::runtime
