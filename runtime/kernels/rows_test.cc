#include "runtime/kernels/rows.h"

#include <cmath>
#include <limits>
#include <random>
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

template <typename T>
std::vector<float> FloatsOf(const Placed<T>& placed) {
  const std::vector<T> values = placed.Values();
  return std::vector<float>(values.begin(), values.end());
}

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
  LayerNorm(Place(x.values), nullptr, Place(scale), Place(shift), rows(), columns(), {kEpsilon}, nullptr, y);
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
  const Placed<float> by_scale(columns(), GetParam().offset);
  const Placed<float> by_shift(columns(), GetParam().offset);
  LayerNormGradient(Place(dy.values), Place(x.values), Place(scale), nullptr, rows(), columns(), {kEpsilon}, y, nullptr,
                    by_scale, by_shift);
  ExpectNear(y.Values(),
             Map(x,
                 [&](int64_t r, int64_t c) {
                   const size_t row = static_cast<size_t>(r);
                   return (dy.At(r, c) * scale_at(c) - g[row] - normals.At(r, c) * gn[row]) / normals.deviation[row];
                 }),
             columns() <= 3 ? 1e-2 : 2e-5);  // With few columns, almost nothing is left of the value.

  std::vector<double> dscale(static_cast<size_t>(columns()));
  std::vector<double> dshift(static_cast<size_t>(columns()));
  for (int64_t r = 0; r < rows(); ++r) {
    for (int64_t c = 0; c < columns(); ++c) {
      dscale[static_cast<size_t>(c)] += dy.At(r, c) * normals.At(r, c);
      dshift[static_cast<size_t>(c)] += dy.At(r, c);
    }
  }
  const double bound = 1e-5 * std::sqrt(static_cast<double>(rows() + 1));
  ExpectNear(by_scale.Values(), dscale, bound);
  ExpectNear(by_shift.Values(), dshift, bound);
}

// Widths at the limits of each way in which threads share rows, and places where no vectors can be read.
INSTANTIATE_TEST_SUITE_P(AllWidths, Rows,
                         testing::Values(RowCase{0, 8, 0}, RowCase{5, 0, 0}, RowCase{1, 1, 0}, RowCase{3, 2, 0},
                                         RowCase{5, 7, 0}, RowCase{9, 32, 0}, RowCase{9, 32, 1}, RowCase{6, 255, 0},
                                         RowCase{6, 256, 0}, RowCase{6, 256, 3}, RowCase{6, 260, 0}, RowCase{6, 257, 0},
                                         RowCase{7, 768, 0}, RowCase{3, 1024, 0}, RowCase{3, 1028, 0},
                                         RowCase{3, 1028, 2}, RowCase{2, 4096, 0}, RowCase{2, 4100, 0},
                                         RowCase{2, 4101, 0}, RowCase{700, 3, 0}, RowCase{700, 40, 0},
                                         RowCase{700, 259, 0}, RowCase{2100, 12, 0}, RowCase{2, 50304, 0}),
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
  const std::vector<float> shift = RandomValues(kColumns, 4);
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
  const auto layer_norm = [&](const std::vector<float>& at, const std::vector<float>& by,
                              const std::vector<float>& to) {
    LayerNorm(Placed<float>(at), nullptr, Placed<float>(by), Placed<float>(to), kRows, kColumns, {kEpsilon}, nullptr,
              result);
    return result.Values();
  };
  const Placed<float> dscale(kColumns);
  const Placed<float> dshift(kColumns);
  LayerNormGradient(by_result, Placed<float>(x), Placed<float>(scale), nullptr, kRows, kColumns, {kEpsilon}, result,
                    nullptr, dscale, dshift);
  const std::vector<float> dx = result.Values();
  CheckGradient([&](const std::vector<float>& at) { return layer_norm(at, scale, shift); }, x, dy, dx);
  CheckGradient([&](const std::vector<float>& with) { return layer_norm(x, with, shift); }, scale, dy, dscale.Values());
  CheckGradient([&](const std::vector<float>& with) { return layer_norm(x, scale, with); }, shift, dy, dshift.Values());
}

// What a call of LayerNormGradient gives; empty where it is not wanted.
struct NormGradients {
  std::vector<float> dx;
  std::vector<float> dscale;
  std::vector<float> dshift;
};

template <typename T>
void ExpectSameWhateverIsWanted(int64_t rows, int64_t columns, int64_t offset, uint32_t seed) {
  const std::vector<float> random = RandomValues(2 * rows * columns, seed);
  const auto middle = random.begin() + rows * columns;
  const Placed<T> x(std::vector<T>(random.begin(), middle), offset);
  const Placed<float> scale(RandomValues(columns, seed + 1), offset);
  const auto dy = [&] { return Placed<T>(std::vector<T>(middle, random.end()), offset); };
  // `over`: the gradient by the input is written over that by the result.
  const auto run = [&](bool by_x, bool by_scale, bool by_shift, bool over) {
    const Placed<T> by_result = dy();
    const Placed<T> apart(rows * columns, offset);
    const Placed<float> dscale(columns, offset);
    const Placed<float> dshift(columns, offset);
    const Placed<T>& dx = over ? by_result : apart;
    LayerNormGradient(by_result, x, by_x ? scale.get() : nullptr, nullptr, rows, columns, {kEpsilon},
                      by_x ? Reals(dx.get()) : Reals(nullptr), nullptr, by_scale ? dscale.get() : nullptr,
                      by_shift ? dshift.get() : nullptr);
    NormGradients made;
    if (by_x) made.dx = FloatsOf(dx);
    if (by_scale) made.dscale = dscale.Values();
    if (by_shift) made.dshift = dshift.Values();
    return made;
  };
  const NormGradients all = run(true, true, true, false);
  for (const int wanted : {1, 2, 4, 6, 7}) {
    for (const bool over : {false, true}) {
      if (over && (wanted & 1) == 0) continue;
      const bool by_x = (wanted & 1) != 0, by_scale = (wanted & 2) != 0, by_shift = (wanted & 4) != 0;
      const NormGradients made = run(by_x, by_scale, by_shift, over);
      if (by_x) EXPECT_EQ(made.dx, all.dx);
      if (by_scale) EXPECT_EQ(made.dscale, all.dscale);
      if (by_shift) EXPECT_EQ(made.dshift, all.dshift);
    }
  }
}

TEST(LayerNormGradients, AreTheSameBitsWhicheverAreWanted) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1; };
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const int64_t rows = seed % 4 == 0 ? pick(3) : pick(20);
    const int64_t columns = seed % 5 == 0 ? pick(3) : pick(70) * (seed % 2 == 0 ? 4 : 1) + (seed % 7 == 0 ? 300 : 0);
    const int64_t offset = static_cast<int64_t>(random() % 3);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(rows) + " x " + std::to_string(columns) +
                 " at " + std::to_string(offset));
    if (seed % 3 == 0) ExpectSameWhateverIsWanted<float>(rows, columns, offset, seed);
    if (seed % 3 == 1) ExpectSameWhateverIsWanted<BFloat16>(rows, columns, offset, seed);
    if (seed % 3 == 2) ExpectSameWhateverIsWanted<Float16>(rows, columns, offset, seed);
  }
}

TEST(LayerNormGradients, SumsOfNoRowsAreZero) {
  const Placed<float> none(0);
  const Placed<float> dscale(std::vector<float>{1.0f, 2.0f});
  const Placed<float> dshift(std::vector<float>{3.0f, 4.0f});
  LayerNormGradient(none, none, dscale, nullptr, 0, 2, {kEpsilon}, none, nullptr, dscale, dshift);
  EXPECT_EQ(dscale.Values(), std::vector<float>(2, 0.0f));
  EXPECT_EQ(dshift.Values(), std::vector<float>(2, 0.0f));
}

// The mean stays, and the mean square becomes 1.
TEST_P(Rows, UncenteredNormsAndGradients) {
  const Matrix x = Random(3, 2.0f), dy = Random(4, 1.0f);
  const std::vector<float> scale = RandomValues(columns(), 5);
  const double count = static_cast<double>(columns());
  const auto scaled = [&](int64_t r, int64_t c) {
    return dy.At(r, c) * static_cast<double>(scale[static_cast<size_t>(c)]);
  };
  const std::vector<double> inverse = PerRow(x, [&](int64_t r) {
    return 1 / std::sqrt(Sum(x, [&](int64_t c) { return x.At(r, c) * x.At(r, c); }) / count + kEpsilon);
  });
  const auto normal = [&](int64_t r, int64_t c) { return x.At(r, c) * inverse[static_cast<size_t>(r)]; };
  const std::vector<double> slope =
      PerRow(x, [&](int64_t r) { return Sum(x, [&](int64_t c) { return scaled(r, c) * normal(r, c); }) / count; });
  const Placed<float> y = Result();
  LayerNorm(Place(x.values), nullptr, Place(scale), nullptr, rows(), columns(), {kEpsilon, false}, nullptr, y);
  ExpectNear(y.Values(), Map(x, [&](int64_t r, int64_t c) { return normal(r, c) * scale[static_cast<size_t>(c)]; }),
             1e-5);
  const Placed<float> by_scale(columns(), GetParam().offset);
  LayerNormGradient(Place(dy.values), Place(x.values), Place(scale), nullptr, rows(), columns(), {kEpsilon, false}, y,
                    nullptr, by_scale, nullptr);
  ExpectNear(y.Values(),
             Map(x,
                 [&](int64_t r, int64_t c) {
                   const size_t row = static_cast<size_t>(r);
                   return (scaled(r, c) - normal(r, c) * slope[row]) * inverse[row];
                 }),
             columns() <= 3 ? 1e-2 : 2e-5);
  std::vector<double> dscale(static_cast<size_t>(columns()));
  for (int64_t r = 0; r < rows(); ++r) {
    for (int64_t c = 0; c < columns(); ++c) dscale[static_cast<size_t>(c)] += dy.At(r, c) * normal(r, c);
  }
  ExpectNear(by_scale.Values(), dscale, 1e-5 * std::sqrt(static_cast<double>(rows() + 1)));
}

// The sum that is normalized is made by the call, with the bits of one that is made before it; so is the sum of the
// gradient with another one, and its rounded copy. Results may lie over what they are made of.
TEST_P(Rows, SumsAroundNormsAreThoseMadeApart) {
  const std::vector<float> a = Random(3, 2.0f).values, b = Random(4, 1.0f).values, other = Random(7, 1.0f).values;
  std::vector<float> both(a.size());
  for (size_t i = 0; i < a.size(); ++i) both[i] = a[i] + b[i];
  const std::vector<float> scale = RandomValues(columns(), 5), shift = RandomValues(columns(), 6);
  const int64_t offset = GetParam().offset;
  const Placed<float> y = Result(), expected = Result();
  LayerNorm(Place(both), nullptr, Place(scale), Place(shift), rows(), columns(), {kEpsilon}, nullptr, expected);
  const Placed<float> over_a(a, offset), over_b(b, offset), apart = Result();
  for (const Placed<float>* const sum : {&apart, &over_a, &over_b}) {
    const Placed<float> first(a, offset), second(b, offset);
    LayerNorm(sum == &over_a ? over_a : first, sum == &over_b ? over_b : second, Place(scale), Place(shift), rows(),
              columns(), {kEpsilon}, *sum, y);
    EXPECT_EQ(sum->Values(), both);
    EXPECT_EQ(y.Values(), expected.Values());
  }
  LayerNorm(Place(a), Place(b), Place(scale), Place(shift), rows(), columns(), {kEpsilon}, nullptr, y);
  EXPECT_EQ(y.Values(), expected.Values());

  const Placed<float> dx = Result();
  LayerNormGradient(Place(a), Place(both), Place(scale), nullptr, rows(), columns(), {kEpsilon}, dx, nullptr, nullptr,
                    nullptr);
  const std::vector<float> alone = dx.Values();
  std::vector<double> total(a.size());
  std::vector<BFloat16> rounded(a.size());
  for (size_t i = 0; i < a.size(); ++i) total[i] = static_cast<double>(other[i]) + static_cast<double>(alone[i]);
  const Placed<float> over_other(other, offset);
  const Placed<BFloat16> copy(rows() * columns(), offset);
  LayerNormGradient(Place(a), Place(both), Place(scale), over_other, rows(), columns(), {kEpsilon}, over_other, copy,
                    nullptr, nullptr);
  const std::vector<float> made = over_other.Values();
  ExpectNear(made, total, columns() <= 3 ? 1e-2 : 1e-5);
  for (size_t i = 0; i < made.size(); ++i) rounded[i] = BFloat16(made[i]);
  EXPECT_EQ(FloatsOf(copy), std::vector<float>(rounded.begin(), rounded.end()));
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
