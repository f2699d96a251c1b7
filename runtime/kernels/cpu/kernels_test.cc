#include "runtime/kernels/kernels.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace cleave::runtime {
namespace {

std::vector<float> RandomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

// What a loss or a metric writes.
template <typename Function, typename... Arguments>
float Result(Function function, const Arguments&... arguments) {
  float result = 0.0f;
  function(arguments..., &result);
  return result;
}

// The reduction written out: every element is added to the result at the index that leaves the axes out.
std::vector<double> NaiveReduce(const std::vector<float>& x, const std::vector<int64_t>& shape,
                                const std::vector<int>& axes, double first, double (*combine)(double, double)) {
  int64_t results = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) == axes.end()) results *= shape[d];
  }
  std::vector<double> y(static_cast<size_t>(results), first);
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    int64_t rest = i;
    int64_t index = 0;
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t position = rest % shape[d];
      rest /= shape[d];
      if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end()) continue;
      index += position * stride;
      stride *= shape[d];
    }
    double& to = y[static_cast<size_t>(index)];
    to = combine(to, x[static_cast<size_t>(i)]);
  }
  return y;
}

TEST(Reduce, EveryShapeAndEverySetOfAxes) {
  const std::vector<std::vector<int64_t>> shapes = {{},        {1},         {7},          {0},        {3, 0},
                                                    {5, 4},    {100, 10},   {300, 517},   {20000},    {2, 3, 4},
                                                    {6, 1, 5}, {3, 40, 70}, {2, 3, 2, 5}, {40000, 3}, {1, 60000}};
  uint32_t seed = 0;
  for (const std::vector<int64_t>& shape : shapes) {
    const std::vector<float> x = RandomValues(ElementCount(shape), ++seed);
    for (uint32_t set = 1; set < (1u << shape.size()); ++set) {
      std::vector<int> axes;
      for (size_t d = 0; d < shape.size(); ++d) {
        if ((set >> d & 1) != 0) axes.push_back(static_cast<int>(d));
      }
      SCOPED_TRACE(testing::Message() << testing::PrintToString(shape) << " over " << testing::PrintToString(axes));
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const std::vector<double> sum = NaiveReduce(x, shape, axes, 0.0, [](double a, double b) { return a + b; });
      const std::vector<double> largest =
          NaiveReduce(x, shape, axes, -kInfinity, [](double a, double b) { return std::max(a, b); });
      const std::vector<double> smallest =
          NaiveReduce(x, shape, axes, kInfinity, [](double a, double b) { return std::min(a, b); });
      std::vector<float> y(sum.size(), 77.0f);
      ReduceSum(x.data(), shape, axes, y.data());
      for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], sum[i], 1e-3);
      ReduceMean(x.data(), shape, axes, 4, y.data());
      for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], sum[i] / 4, 1e-3);
      ReduceMax(x.data(), shape, axes, y.data());
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(largest[i]));
      ReduceMin(x.data(), shape, axes, y.data());
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(smallest[i]));
    }
  }
}

TEST(Reduce, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<float> x = RandomValues(300 * 517, 3);
  for (const std::vector<int>& axes : {std::vector<int>{0}, std::vector<int>{1}, std::vector<int>{0, 1}}) {
    std::vector<float> one(517);
    std::vector<float> three(517);
    omp_set_num_threads(1);
    ReduceSum(x.data(), {300, 517}, axes, one.data());
    omp_set_num_threads(3);
    ReduceSum(x.data(), {300, 517}, axes, three.data());
    EXPECT_EQ(one, three);
  }
}

TEST(Rows, SoftmaxSumsToOneAndIgnoresAShift) {
  const std::vector<float> x = {1.0f, 2.0f, 3.0f, 1001.0f, 1002.0f, 1003.0f};
  std::vector<float> y(6);
  Softmax(x.data(), 2, 3, y.data());
  EXPECT_NEAR(y[0], 0.09003057f, 1e-6);
  EXPECT_NEAR(y[2], 0.66524096f, 1e-6);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], y[i + 3], 1e-6);
  std::vector<float> logarithms(6);
  LogSoftmax(x.data(), 2, 3, logarithms.data());
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(std::exp(logarithms[i]), y[i], 1e-6);
}

// Checks dx, given dy, against central differences of sum(dy * f(x)).
template <typename Function>
void CheckGradient(Function f, std::vector<float> x, const std::vector<float>& dy, const std::vector<float>& dx) {
  for (size_t i = 0; i < x.size(); ++i) {
    const float kept = x[i];
    constexpr float kStep = 1e-2f;
    double difference = 0;
    for (const float sign : {1.0f, -1.0f}) {
      x[i] = kept + sign * kStep;
      const std::vector<float> y = f(x);
      for (size_t j = 0; j < y.size(); ++j) difference += static_cast<double>(sign) * dy[j] * y[j];
    }
    x[i] = kept;
    EXPECT_NEAR(dx[i], difference / (2.0 * kStep), 2e-3) << "element " << i;
  }
}

TEST(Rows, GradientsAreThoseOfFiniteDifferences) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kColumns = 7;
  const std::vector<float> x = RandomValues(kRows * kColumns, 1);
  const std::vector<float> dy = RandomValues(kRows * kColumns, 2);
  const std::vector<float> scale = RandomValues(kColumns, 3);
  const std::vector<float> shift = RandomValues(kColumns, 4);
  std::vector<float> dx(x.size());
  const auto softmax = [&](const std::vector<float>& at) {
    std::vector<float> y(at.size());
    Softmax(at.data(), kRows, kColumns, y.data());
    return y;
  };
  SoftmaxGradient(dy.data(), softmax(x).data(), kRows, kColumns, dx.data());
  CheckGradient(softmax, x, dy, dx);
  const auto log_softmax = [&](const std::vector<float>& at) {
    std::vector<float> y(at.size());
    LogSoftmax(at.data(), kRows, kColumns, y.data());
    return y;
  };
  LogSoftmaxGradient(dy.data(), log_softmax(x).data(), kRows, kColumns, dx.data());
  CheckGradient(log_softmax, x, dy, dx);
  const auto layer_norm = [&](const std::vector<float>& at, const std::vector<float>& with) {
    std::vector<float> y(at.size());
    LayerNorm(at.data(), with.data(), shift.data(), kRows, kColumns, 1e-5f, y.data());
    return y;
  };
  LayerNormGradientInput(dy.data(), x.data(), scale.data(), kRows, kColumns, 1e-5f, dx.data());
  CheckGradient([&](const std::vector<float>& at) { return layer_norm(at, scale); }, x, dy, dx);
  std::vector<float> dscale(scale.size());
  LayerNormGradientScale(dy.data(), x.data(), kRows, kColumns, 1e-5f, dscale.data());
  CheckGradient([&](const std::vector<float>& with) { return layer_norm(x, with); }, scale, dy, dscale);
}

TEST(Elementwise, ExpIsExactToTwoUnits) {
  for (float x = -104.0f; x < 89.0f; x += 0.00137f) {
    const double expected = std::exp(static_cast<double>(x));
    if (expected > std::numeric_limits<float>::max()) continue;
    // Below the normal numbers a unit is the smallest number there is.
    const double unit = std::max(expected * 1.2e-7, 1.5e-45);
    ASSERT_NEAR(Exp(x), expected, 2 * unit) << "x = " << x;
  }
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-1e9f), 0.0f);
  EXPECT_EQ(Exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(Exp(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(Exp(std::nanf(""))));
}

// |f(x) - expected(x)| within `units` of the last place of the result for x in [low, high].
void ExpectExact(float (*f)(float), double (*expected)(double), float low, float high, double units) {
  for (int i = 0; i <= 100000; ++i) {
    const float x = low + (high - low) * static_cast<float>(i) / 100000.0f;
    const double exact = expected(static_cast<double>(x));
    ASSERT_NEAR(f(x), exact, units * 1.2e-7 * std::abs(exact) + 1e-44) << "x = " << x;
  }
}

TEST(Elementwise, PolynomialsAreExactToAFewUnits) {
  ExpectExact(
      Erf, [](double x) { return std::erf(x); }, -6.0f, 6.0f, 6);
  ExpectExact(
      Erf, [](double x) { return std::erf(x); }, -1e-3f, 1e-3f, 4);
  ExpectExact(
      LogOnePlus, [](double t) { return std::log1p(t); }, 0.0f, 1.0f, 3);
  const auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  ExpectExact(Softplus, softplus, -80.0f, 80.0f, 3);
  ExpectExact(
      Silu, [](double x) { return x / (1.0 + std::exp(-x)); }, -80.0f, 80.0f, 4);
  EXPECT_EQ(Erf(std::numeric_limits<float>::infinity()), 1.0f);
  EXPECT_EQ(Softplus(1e30f), 1e30f);
  for (const auto f : {Erf, Softplus, Silu}) EXPECT_TRUE(std::isnan(f(std::nanf(""))));
}

TEST(Elementwise, PowersByWholeNumbers) {
  for (const float x : {-1.7f, -0.4f, 0.3f, 2.1f}) {
    EXPECT_EQ(Power<0>(x), 1.0f);
    EXPECT_EQ(Power<1>(x), x);
    EXPECT_NEAR(Power<3>(x), std::pow(x, 3), 1e-5);
    EXPECT_NEAR(Power<7>(x), std::pow(x, 7), 1e-4);
    EXPECT_NEAR(Power<-2>(x), std::pow(x, -2), 1e-5);
  }
}

TEST(Elementwise, BoundsKeepNotANumber) {
  const float nan = std::nanf("");
  EXPECT_EQ(Maximum(1.0f, 2.0f), 2.0f);
  EXPECT_EQ(Minimum(1.0f, 2.0f), 1.0f);
  for (const auto f : {Maximum, Minimum}) {
    EXPECT_TRUE(std::isnan(f(nan, 1.0f)));
    EXPECT_TRUE(std::isnan(f(1.0f, nan)));
  }
  EXPECT_EQ(Clamp(3.0f, -1.0f, 1.0f), 1.0f);
  EXPECT_TRUE(std::isnan(Clamp(nan, -1.0f, 1.0f)));
  EXPECT_EQ(LeakyRelu(-2.0f, 0.5f), -1.0f);
  EXPECT_TRUE(std::isnan(LeakyRelu(nan, 0.5f)));
}

TEST(Elementwise, GradientsAreThoseOfFiniteDifferences) {
  for (const float x : {-2.3f, -0.7f, 0.4f, 1.9f}) {
    constexpr float kStep = 1e-2f;
    const auto slope = [&](auto f) { return (f(x + kStep) - f(x - kStep)) / (2 * kStep); };
    EXPECT_NEAR(GeluGradient(1.0f, x), slope(Gelu), 1e-3);
    EXPECT_NEAR(SigmoidGradient(1.0f, Sigmoid(x)), slope(Sigmoid), 1e-3);
    EXPECT_NEAR(TanhGradient(1.0f, std::tanh(x)), slope([](float at) { return std::tanh(at); }), 1e-3);
    EXPECT_NEAR(ReluGradient(1.0f, Relu(x)), slope(Relu), 1e-3);
    EXPECT_NEAR(LeakyReluGradient(1.0f, x, 0.2f), slope([](float at) { return LeakyRelu(at, 0.2f); }), 1e-3);
  }
  EXPECT_NEAR(Gelu(1.0f), 0.841192f, 1e-5);
  EXPECT_TRUE(std::isnan(Relu(std::nanf(""))));
}

TEST(Ranking, EqualElementsByTheirIndex) {
  const std::vector<float> x = {1.0f, 7.0f, 7.0f, 3.0f, -1.0f, -4.0f, -2.0f, -1.0f};
  std::vector<int32_t> index(2);
  ArgMax(x.data(), {2, 4}, 1, index.data());
  EXPECT_EQ(index, (std::vector<int32_t>{1, 0}));
  std::vector<int32_t> columns(4);
  ArgMax(x.data(), {2, 4}, 0, columns.data());
  EXPECT_EQ(columns, (std::vector<int32_t>{0, 0, 0, 0}));
  FirstEqual(x.data(), std::vector<float>{7.0f, 5.0f}.data(), {2, 4}, 1, 10, index.data());
  EXPECT_EQ(index, (std::vector<int32_t>{11, kNoIndex}));
  std::vector<float> y(6);
  std::vector<int32_t> indices(6);
  TopK(x.data(), 2, 4, 3, y.data());
  TopKIndices(x.data(), 2, 4, 3, indices.data());
  EXPECT_EQ(y, (std::vector<float>{7.0f, 7.0f, 3.0f, -1.0f, -1.0f, -2.0f}));
  EXPECT_EQ(indices, (std::vector<int32_t>{1, 2, 3, 0, 3, 2}));
  std::vector<float> dx(4);
  TopKGradient(y.data(), std::vector<int32_t>{9, 5, 6}.data(), 1, 3, 5, 4, dx.data());
  EXPECT_EQ(dx, (std::vector<float>{7.0f, 3.0f, 0.0f, 0.0f}));
}

// However the row is cut and whoever holds the pieces, the first of the candidates are the first of the row.
TEST(Ranking, CandidatesHoldTheFirstOfTheWhole) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kElements = 11;
  constexpr int64_t kFirst = 4;
  const std::vector<float> x = RandomValues(kRows * kElements, 9);
  std::vector<int32_t> expected(kRows * kFirst);
  TopKIndices(x.data(), kRows, kElements, kFirst, expected.data());
  for (const int64_t pieces : {1, 2, 3, 5, 11}) {
    std::vector<float> values(kRows * pieces * kFirst);
    std::vector<int32_t> indices(values.size());
    TopKCandidates(x.data(), kRows, {kElements, pieces, 0, pieces}, kFirst, values.data());
    TopKCandidateIndices(x.data(), kRows, {kElements, pieces, 0, pieces}, kFirst, indices.data());
    std::vector<int32_t> first(kRows * kFirst);
    TopKMerge(values.data(), indices.data(), kRows, pieces * kFirst, kFirst, first.data());
    EXPECT_EQ(first, expected) << pieces << " pieces";
  }
}

// The classes in two parts: each label's logit is in one of them, and rows of a label that is no class count nothing.
TEST(Losses, PartsOfTheClassesAddUpToTheWhole) {
  constexpr int64_t kRows = 4;
  constexpr int64_t kClasses = 5;
  const std::vector<float> logits = RandomValues(kRows * kClasses, 21);
  const std::vector<int32_t> label = {0, 4, 9, 2};
  std::vector<float> log_sum(kRows);
  for (size_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (size_t c = 0; c < kClasses; ++c) sum += std::exp(logits[r * kClasses + c]);
    log_sum[r] = static_cast<float>(std::log(sum));
  }
  std::vector<float> whole(logits.size());
  CrossEntropyGradient(logits.data(), label.data(), 2.0f, kRows, kClasses, kRows, whole.data());
  float loss = 0.0f;
  for (const ClassRange& part : {ClassRange{0, 2, kClasses}, ClassRange{2, 3, kClasses}}) {
    std::vector<float> own(static_cast<size_t>(kRows * part.count));
    for (int64_t i = 0; i < kRows * part.count; ++i) {
      own[static_cast<size_t>(i)] =
          logits[static_cast<size_t>(i / part.count * kClasses + part.first + i % part.count)];
    }
    loss += Result(LabelLoss, own.data(), label.data(), log_sum.data(), kRows, part.count, part.first, kRows, SampleMask{});
    std::vector<float> gradient(own.size());
    LabelLossGradient(own.data(), label.data(), log_sum.data(), 2.0f, kRows, part, kRows, gradient.data());
    for (int64_t i = 0; i < kRows * part.count; ++i) {
      EXPECT_NEAR(gradient[static_cast<size_t>(i)],
                  whole[static_cast<size_t>(i / part.count * kClasses + part.first + i % part.count)], 1e-6);
    }
  }
  EXPECT_NEAR(loss, Result(CrossEntropy, logits.data(), label.data(), kRows, kClasses, kRows, SampleMask{}), 1e-6);
  EXPECT_EQ(Result(ShareOfEqual, label.data(), std::vector<int32_t>{0, 1, 9, 1}.data(), 4, 8, SampleMask{}), 0.25f);
}

TEST(Losses, SharesOfTheRowsAddUpToTheWhole) {
  constexpr int64_t kRows = 11;
  constexpr int64_t kClasses = 5;
  const std::vector<float> logits = RandomValues(kRows * kClasses, 5);
  std::vector<int32_t> label(kRows);
  for (int64_t r = 0; r < kRows; ++r) label[static_cast<size_t>(r)] = static_cast<int32_t>(r % kClasses);
  const float whole = Result(CrossEntropy, logits.data(), label.data(), kRows, kClasses, kRows, SampleMask{});
  double expected = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < kClasses; ++c) sum += std::exp(logits[static_cast<size_t>(r * kClasses + c)]);
    expected += std::log(sum) - logits[static_cast<size_t>(r * kClasses + label[static_cast<size_t>(r)])];
  }
  EXPECT_NEAR(whole, expected / kRows, 1e-5);
  const float first = Result(CrossEntropy, logits.data(), label.data(), 4, kClasses, kRows, SampleMask{});
  const float second = Result(CrossEntropy, logits.data() + 4 * kClasses, label.data() + 4, kRows - 4, kClasses, kRows, SampleMask{});
  EXPECT_NEAR(first + second, whole, 1e-6);
  EXPECT_EQ(Result(CrossEntropy, logits.data(), label.data(), 0, kClasses, kRows, SampleMask{}), 0.0f);

  std::vector<float> gradient(logits.size());
  CrossEntropyGradient(logits.data(), label.data(), 1.0f, kRows, kClasses, kRows, gradient.data());
  CheckGradient(
      [&](const std::vector<float>& at) {
        return std::vector<float>{Result(CrossEntropy, at.data(), label.data(), kRows, kClasses, kRows, SampleMask{})};
      },
      logits, {1.0f}, gradient);
}

TEST(Losses, HuberAndBinaryCrossEntropy) {
  const std::vector<float> x = {2.0f, -3.0f, 0.25f, 90.0f};
  const std::vector<float> target = {1.0f, 0.0f, 0.5f, 1.0f};
  // 0.5 (1 - 0.25), 0.5 (3 - 0.25), 0.25^2 / 2, 0.5 (89 - 0.25)
  EXPECT_NEAR(Result(Huber, x.data(), target.data(), 0.5f, 4, 8, SampleMask{}), (0.375 + 1.375 + 0.03125 + 44.375) / 8, 1e-5);
  const double logs = std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-3.0)) + std::log1p(std::exp(0.25)) - 0.125;
  EXPECT_NEAR(Result(BceWithLogits, x.data(), target.data(), 4, 8, SampleMask{}), logs / 8, 1e-6);
  const std::vector<float> mask = {0.0f, 1.0f, 1.0f, 0.0f};
  EXPECT_NEAR(Result(Huber, x.data(), target.data(), 0.5f, 4, 8, SampleMask{mask.data(), 1}), (1.375 + 0.03125) / 8, 1e-6);
}

TEST(Losses, PaddingCountsNothing) {
  const std::vector<float> logits = {2, 1, 1, 2, 2, 1, std::nanf(""), 0};
  const std::vector<int32_t> label = {0, 0, 0, 0};
  const std::vector<float> mask = {1, 1, 1, 0};
  EXPECT_FLOAT_EQ(Result(Accuracy, logits.data(), label.data(), 4, 2, 4, SampleMask{mask.data(), 1}), 0.5f);
  EXPECT_TRUE(std::isfinite(Result(CrossEntropy, logits.data(), label.data(), 4, 2, 4, SampleMask{mask.data(), 1})));
  const std::vector<float> per_sample = {1, 0};
  EXPECT_FLOAT_EQ(Result(Accuracy, logits.data(), label.data(), 4, 2, 4, SampleMask{per_sample.data(), 2}), 0.25f);
  const std::vector<float> target = {0, 0, 0, 0};
  EXPECT_FLOAT_EQ(Result(Mse, logits.data(), target.data(), 4, 4, SampleMask{}), 10.0f / 4);
  EXPECT_FLOAT_EQ(Result(Mae, logits.data(), target.data(), 4, 4, SampleMask{per_sample.data(), 2}), 3.0f / 4);
}

TEST(Movement, TransposeMovesEveryElement) {
  const std::vector<std::vector<int64_t>> shapes = {{3, 5}, {2, 3, 4}, {4, 1, 6}, {2, 3, 4, 5}, {70, 300}, {3, 0, 2}};
  for (const std::vector<int64_t>& shape : shapes) {
    std::vector<int> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::vector<int32_t> x(static_cast<size_t>(ElementCount(shape)));
    std::iota(x.begin(), x.end(), 0);
    do {
      std::vector<int32_t> y(x.size(), -1);
      Transpose(x.data(), shape, permutation, y.data());
      for (size_t i = 0; i < y.size(); ++i) {
        // The position in y, taken to x.
        size_t rest = i;
        std::vector<int64_t> position(shape.size());
        for (size_t d = shape.size(); d-- > 0;) {
          const size_t size = static_cast<size_t>(shape[static_cast<size_t>(permutation[d])]);
          position[static_cast<size_t>(permutation[d])] = static_cast<int64_t>(rest % size);
          rest /= size;
        }
        int64_t from = 0;
        for (size_t d = 0; d < shape.size(); ++d) from = from * shape[d] + position[d];
        ASSERT_EQ(y[i], x[static_cast<size_t>(from)]) << testing::PrintToString(permutation);
      }
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST(Movement, BoxesAreCopiedAndPastedBack) {
  std::vector<float> x(4 * 5 * 6);
  std::iota(x.begin(), x.end(), 0.0f);
  std::vector<float> box(2 * 3 * 6);
  CopyBox(x.data(), {4, 5, 6}, {1, 2, 0}, {2, 3, 6}, box.data());
  EXPECT_EQ(box[0], 1 * 30 + 2 * 6);
  EXPECT_EQ(box[18], 2 * 30 + 2 * 6);
  std::vector<float> y = x;
  for (float& value : box) value = -value;
  PasteBox(box.data(), {2, 3, 6}, {1, 2, 0}, {4, 5, 6}, y.data());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t plane = i / 30;
    const size_t row = i / 6 % 5;
    const bool inside = plane >= 1 && plane < 3 && row >= 2;
    EXPECT_EQ(y[i], inside ? -x[i] : x[i]);
  }
  CopyBox(x.data(), {4, 5, 6}, {4, 0, 0}, {0, 5, 6}, box.data());
}

TEST(Indexing, GatherAndItsTranspose) {
  const std::vector<int32_t> tokens = {2, 0, 2, 5, -1};
  const std::vector<float> table = {1, 2, 3, 4, 5, 6};
  std::vector<float> y(10, 9.0f);
  Gather(table.data(), tokens.data(), {1, 5, 3, 2, 0}, y.data());
  EXPECT_EQ(y, (std::vector<float>{5, 6, 1, 2, 5, 6, 0, 0, 0, 0}));
  std::vector<float> dtable(6, 9.0f);
  ScatterAdd(y.data(), tokens.data(), {1, 5, 3, 2, 0}, dtable.data());
  EXPECT_EQ(dtable, (std::vector<float>{1, 2, 0, 0, 10, 12}));
  std::vector<float> hot(15, 9.0f);
  OneHot(tokens.data(), 5, 3, 0, hot.data());
  EXPECT_EQ(hot, (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

// Along the middle one of three dimensions, of which a rank holds rows 1 and 2 of 3: the others come from elsewhere.
TEST(Indexing, PartsOfTheRows) {
  const std::vector<int32_t> indices = {2, 0, 1};
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const RowIndexing indexing = {2, 3, 2, 2, 1};
  std::vector<float> y(12, 9.0f);
  Gather(x.data(), indices.data(), indexing, y.data());
  EXPECT_EQ(y, (std::vector<float>{3, 4, 0, 0, 1, 2, 7, 8, 0, 0, 5, 6}));
  std::vector<float> sums(8, 9.0f);
  ScatterAdd(y.data(), indices.data(), indexing, sums.data());
  EXPECT_EQ(sums, x);
  std::vector<float> hot(6, 9.0f);
  OneHot(indices.data(), 3, 2, 1, hot.data());
  EXPECT_EQ(hot, (std::vector<float>{0, 1, 0, 0, 1, 0}));
}

// Many rows to add, in an order that the number of threads must not change.
TEST(Indexing, SumsDoNotDependOnTheNumberOfThreads) {
  constexpr int64_t kCount = 3000;
  std::vector<int32_t> indices(kCount);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(i * 7 % 5);
  const std::vector<float> updates = RandomValues(kCount * 70, 5);
  std::vector<float> one(5 * 70);
  std::vector<float> three(5 * 70);
  omp_set_num_threads(1);
  ScatterAdd(updates.data(), indices.data(), {1, kCount, 5, 70, 0}, one.data());
  omp_set_num_threads(3);
  ScatterAdd(updates.data(), indices.data(), {1, kCount, 5, 70, 0}, three.data());
  EXPECT_EQ(one, three);
}

TEST(Sequences, RunningSumsInBothDirections) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<float> y(x.size());
  Cumsum(x.data(), {2, 3, 2}, 1, y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30}));
  ReverseCumsum(x.data(), {2, 3, 2}, 1, y.data());
  EXPECT_EQ(y, (std::vector<float>{9, 12, 8, 10, 5, 6, 27, 30, 20, 22, 11, 12}));
  Cumsum(x.data(), {12}, 0, y.data());
  EXPECT_EQ(y.back(), 78);
  Cumsum(x.data(), {3, 0}, 0, y.data());
}

// Turning keeps lengths, turning back gives the same; a piece turns as its rows of the whole do.
TEST(Sequences, RopeKnowsItsPlace) {
  const std::vector<float> x = RandomValues(2 * 5 * 3 * 4, 9);
  std::vector<float> y(x.size());
  Rope(x.data(), {2, 5, 3, 4}, {1, 0, 100.0, false}, y.data());
  for (size_t row = 0; row < x.size(); row += 4) {
    EXPECT_NEAR(x[row] * x[row] + x[row + 2] * x[row + 2], y[row] * y[row] + y[row + 2] * y[row + 2], 1e-5);
  }
  // Position 1: the first pair by 1, the second by 100^(-2/4) = 0.1.
  EXPECT_NEAR(y[12], x[12] * std::cos(1.0f) - x[14] * std::sin(1.0f), 1e-6);
  EXPECT_NEAR(y[15], x[15] * std::cos(0.1f) + x[13] * std::sin(0.1f), 1e-6);
  std::vector<float> piece(2 * 3 * 4);
  Rope(x.data() + 36, {2, 3, 4}, {0, 3, 100.0, false}, piece.data());
  for (size_t i = 0; i < piece.size(); ++i) EXPECT_EQ(piece[i], y[36 + i]);
  std::vector<float> back(x.size());
  Rope(y.data(), {2, 5, 3, 4}, {1, 0, 100.0, true}, back.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 1e-5);
}

TEST(Dropout, DoesNotDependOnTheCut) {
  const Stream stream = {7, "h1.dropout", 3};
  const std::vector<float> x(60 * 50 * 7, 2.0f);
  std::vector<float> whole(x.size());
  Dropout(stream, WholeRegion({60, 50, 7}), 0.25f, x.data(), whole.data());
  const auto dropped = std::count(whole.begin(), whole.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(x.size()), 0.25, 0.01);
  for (const float value : whole) EXPECT_TRUE(value == 0.0f || value == 2.0f * (1.0f / 0.75f)) << value;
  const Region piece = {{60, 50, 7}, {20, 13, 3}, {21, 37, 2}};
  std::vector<float> part(21 * 37 * 2);
  Dropout(stream, piece, 0.25f, x.data(), part.data());
  ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(part[static_cast<size_t>(local + i)], whole[static_cast<size_t>(global + i)]) << global;
    }
  });
  std::vector<float> scalar(1);
  Dropout(stream, WholeRegion({}), 0.0f, x.data(), scalar.data());
  EXPECT_EQ(scalar[0], 2.0f);
  Dropout(stream, {{4, 3}, {2, 0}, {0, 3}}, 0.5f, x.data(), scalar.data());
  EXPECT_EQ(scalar[0], 2.0f);
}

TEST(Dropout, IsTheIdentityInTesting) {
  const std::vector<float> x = RandomValues(100, 4);
  std::vector<float> y(x.size());
  Dropout({1, "h1.dropout", 0}, WholeRegion({100}), 0.9f, x.data(), y.data());
  EXPECT_EQ(y, x);
}

TEST(Movement, CausalMaskKnowsItsPlace) {
  const std::vector<float> x(2 * 2 * 3, 1.0f);
  std::vector<float> y(x.size());
  // Rows 2 and 3, columns 1 to 3 of a larger matrix.
  CausalMask(x.data(), 2, 2, 3, 2, 1, -5.0f, y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 1, -5, 1, 1, 1, 1, 1, -5, 1, 1, 1}));
}

TEST(Partners, EveryRankGetsThePieceThatItNeeds) {
  const Mesh mesh = {{"m0", 2}, {"m1", 3}, {"m2", 2}};
  const std::vector<std::pair<AxisLists, AxisLists>> cases = {
      {{{0, 2}, {}}, {{2, 0}, {}}}, {{{0}, {2}}, {{2}, {0}}}, {{{0}, {}}, {{2}, {}}}, {{{0, 1, 2}}, {{2, 1, 0}}}};
  for (const auto& [from, to] : cases) {
    const std::vector<int> axes = from.size() == 1 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 2};
    for (int64_t rank = 0; rank < MeshSize(mesh); ++rank) {
      const Partners partners = FindPartners(mesh, rank, axes, from, to);
      ASSERT_GE(partners.origin, 0);
      const int64_t origin = RankAt(mesh, rank, axes, partners.origin);
      for (size_t d = 0; d < from.size(); ++d) {
        EXPECT_EQ(IndexOnAxes(mesh, origin, from[d]), IndexOnAxes(mesh, rank, to[d]));
      }
      // Whom a rank receives from sends to it.
      const Partners back = FindPartners(mesh, origin, axes, from, to);
      EXPECT_EQ(RankAt(mesh, origin, axes, back.destination), rank);
    }
  }
}

TEST(TensorText, ShowsShapeAndShortensLargeTensors) {
  const std::vector<float> x = {1, 2.5f, 3, 4};
  EXPECT_EQ(TensorText<float>({2, 2}, x.data()), "[[1, 2.5],\n [3, 4]]");
  EXPECT_EQ(TensorText<float>({}, x.data()), "1");
  std::vector<int32_t> many(2000);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(TensorText<int32_t>({2000}, many.data()),
            "[0, 1, 2, ..., 1997, 1998, 1999]\n2000 elements, min 0, max 1999, mean 999.5");
}

}  // namespace
}  // namespace cleave::runtime
