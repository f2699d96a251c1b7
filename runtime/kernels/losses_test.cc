#include "runtime/kernels/losses.h"

#include <cmath>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

// What a loss or a metric writes.
template <typename Function, typename... Arguments>
float Written(Function function, const Arguments&... arguments) {
  const Placed<float> result(1);
  function(arguments..., result.get());
  return result.Values()[0];
}

// For Written: a function that takes the smoothing behind its result.
template <typename Function>
auto Smoothed(Function function, float smoothing) {
  return [=](const auto&... arguments) { function(arguments..., smoothing, 0.0f, LossGradient()); };
}

// What a loss writes that also writes its gradient to `dlogits`, times `dloss`.
template <typename Function, typename... Arguments>
float WithGradient(Function function, float smoothing, float dloss, float* dlogits, const Arguments&... arguments) {
  const Placed<float> result(1);
  function(arguments..., result.get(), smoothing, 0.0f, {dloss, dlogits});
  return result.Values()[0];
}

// Logits and labels of some rows, of which one label is no class.
struct Batch {
  Batch(int64_t rows, int64_t classes, uint32_t seed, int64_t offset = 0)
      : rows(rows), classes(classes), values(RandomValues(rows * classes, seed)), offset(offset) {
    for (float& value : values) value *= 6.0f;
    for (int64_t r = 0; r < rows; ++r) label.push_back(static_cast<int32_t>(r * 7 % classes));
    if (rows > 2) label[1] = static_cast<int32_t>(classes);
  }

  bool IsClass(int64_t row) const { return label[static_cast<size_t>(row)] < classes; }
  double At(int64_t row, int64_t c) const { return values[static_cast<size_t>(row * classes + c)]; }
  double LogSum(int64_t row) const {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(At(row, c));
    return std::log(sum);
  }
  // That the label of a row gives to a class.
  double Probability(int64_t row, int64_t c, float smoothing) const {
    const double own = static_cast<double>(smoothing);
    return (label[static_cast<size_t>(row)] == c ? 1 - own : 0) + own / static_cast<double>(classes);
  }
  double Loss(int64_t row, float smoothing) const {
    double loss = 0;
    if (!IsClass(row)) return loss;
    const double log_sum = LogSum(row);
    for (int64_t c = 0; c < classes; ++c) loss += Probability(row, c, smoothing) * (log_sum - At(row, c));
    return loss;
  }
  double Gradient(int64_t row, int64_t c, float smoothing) const {
    return IsClass(row) ? std::exp(At(row, c) - LogSum(row)) - Probability(row, c, smoothing) : 0;
  }

  int64_t rows;
  int64_t classes;
  std::vector<float> values;
  std::vector<int32_t> label;
  int64_t offset;
};

TEST(CrossEntropy, LossAndGradientOfEveryWidth) {
  for (const Batch& batch :
       {Batch(11, 5, 1), Batch(11, 10, 2), Batch(0, 4, 3), Batch(3, 1, 4), Batch(9, 257, 5), Batch(5, 1000, 6),
        Batch(5, 1000, 6, 1), Batch(4, 4096, 7), Batch(3, 50304, 8), Batch(3, 50257, 9), Batch(5000, 3, 10)}) {
    SCOPED_TRACE(testing::Message() << batch.rows << " rows of " << batch.classes << " classes");
    const Placed<float> logits(batch.values, batch.offset);
    const Placed<int32_t> label(batch.label);
    const int64_t whole = 2 * batch.rows + 1;
    std::vector<double> log_sums;
    for (int64_t r = 0; r < batch.rows; ++r) log_sums.push_back(batch.LogSum(r));
    for (const float smoothing : {0.0f, 0.1f}) {
      double expected = 0;
      std::vector<double> gradient;
      for (int64_t r = 0; r < batch.rows; ++r) {
        expected += batch.Loss(r, smoothing) / static_cast<double>(whole);
        for (int64_t c = 0; c < batch.classes; ++c) {
          const double guess = std::exp(batch.At(r, c) - log_sums[static_cast<size_t>(r)]);
          const double difference = batch.IsClass(r) ? guess - batch.Probability(r, c, smoothing) : 0;
          gradient.push_back(difference * 3 / static_cast<double>(whole));
        }
      }
      const float loss = Written(Smoothed(CrossEntropy, smoothing), logits.get(), label.get(), batch.rows,
                                 batch.classes, whole, SampleMask{});
      EXPECT_NEAR(loss, expected, 1e-5 * std::max(expected, 1e-3));

      const Placed<float> dloss({3.0f});
      const Placed<float> result(batch.rows * batch.classes, batch.offset);
      for (const Scalar<float>& factor : {Scalar<float>(3.0f), Scalar<float>(dloss.get())}) {
        CrossEntropyGradient(logits, label, factor, batch.rows, batch.classes, whole, result, smoothing);
        ExpectNear(result.Values(), gradient, 1e-5);
      }
      // Both at once give the same digits, also over the logits.
      const Placed<float> together(batch.values, batch.offset);
      EXPECT_EQ(WithGradient(CrossEntropy, smoothing, 3.0f, together.get(), together.get(), label.get(), batch.rows,
                             batch.classes, whole, SampleMask{}),
                loss);
      EXPECT_EQ(together.Values(), result.Values());
    }
  }
}

TEST(CrossEntropy, GradientIsThatOfFiniteDifferences) {
  constexpr int64_t kRows = 4;
  constexpr int64_t kClasses = 5;
  const std::vector<float> x = RandomValues(kRows * kClasses, 5);
  const Placed<int32_t> label({0, 4, 9, 2});
  const Placed<float> gradient(kRows * kClasses);
  CrossEntropyGradient(Placed<float>(x), label, 1.0f, kRows, kClasses, kRows, gradient);
  const auto loss = [&](const std::vector<float>& at) {
    const Placed<float> logits(at);
    return std::vector<float>{
        Written(Smoothed(CrossEntropy, 0.0f), logits.get(), label.get(), kRows, kClasses, kRows, SampleMask{})};
  };
  CheckGradient(loss, x, {1.0f}, gradient.Values());
}

// The classes are cut into two parts: each label's logit is in one of them, and rows whose label is no class do not
// count.
TEST(LabelLoss, PartsOfTheClassesAddUpToTheWhole) {
  for (const int64_t cut : {2, 4, 8}) {
    for (const float smoothing : {0.0f, 0.2f}) {
      const Batch batch(6, 13, 21);
      const Placed<int32_t> label(batch.label);
      std::vector<float> log_sums;
      for (int64_t r = 0; r < batch.rows; ++r) log_sums.push_back(static_cast<float>(batch.LogSum(r)));
      const Placed<float> log_sum(log_sums);
      double loss = 0;
      double expected = 0;
      for (int64_t r = 0; r < batch.rows; ++r) expected += batch.Loss(r, smoothing) / static_cast<double>(batch.rows);
      for (const ClassRange& part : {ClassRange{0, cut, 13}, ClassRange{cut, 13 - cut, 13}}) {
        std::vector<float> own;
        std::vector<double> gradient;
        for (int64_t r = 0; r < batch.rows; ++r) {
          for (int64_t c = part.first; c < part.first + part.count; ++c) {
            own.push_back(static_cast<float>(batch.At(r, c)));
            gradient.push_back(batch.Gradient(r, c, smoothing) * 2 / static_cast<double>(batch.rows));
          }
        }
        const Placed<float> logits(own);
        const float share = Written(Smoothed(LabelLoss, smoothing), logits.get(), label.get(), log_sum.get(),
                                    batch.rows, part, batch.rows, SampleMask{});
        loss += share;
        const Placed<float> result(static_cast<int64_t>(own.size()));
        LabelLossGradient(logits, label, log_sum, 2.0f, batch.rows, part, batch.rows, result, smoothing);
        ExpectNear(result.Values(), gradient, 1e-5);
        EXPECT_EQ(WithGradient(LabelLoss, smoothing, 2.0f, logits.get(), logits.get(), label.get(), log_sum.get(),
                               batch.rows, part, batch.rows, SampleMask{}),
                  share);
        EXPECT_EQ(logits.Values(), result.Values());
      }
      EXPECT_NEAR(loss, expected, 1e-5 * expected);
    }
  }
}

TEST(Accuracy, TheFirstOfEqualLogitsCounts) {
  for (const int64_t classes : {3, 500, 5000}) {
    std::vector<float> logits(static_cast<size_t>(4 * classes), 0.0f);
    const auto at = [&](int64_t row, int64_t c) -> float& { return logits[static_cast<size_t>(row * classes + c)]; };
    at(0, 1) = 2.0f;
    at(0, classes - 1) = 2.0f;  // The second of two equal largest values.
    at(1, classes - 1) = 1.0f;
    at(3, classes - 1) = std::nanf("");  // As for argmax, a NaN comes before all other values.
    const Placed<float> x(logits);
    const Placed<int32_t> label({1, static_cast<int32_t>(classes - 1), 1, static_cast<int32_t>(classes - 1)});
    EXPECT_EQ(Written(Accuracy, x.get(), label.get(), 4, classes, 8, SampleMask{}), 0.375f);
    const Placed<int32_t> others({static_cast<int32_t>(classes - 1), 0, 1, 0});
    EXPECT_EQ(Written(Accuracy, x.get(), others.get(), 4, classes, 8, SampleMask{}), 0.0f);
  }
}

TEST(Losses, PaddingCountsNothing) {
  const Placed<float> logits({2, 1, 1, 2, 2, 1, std::nanf(""), 0});
  const Placed<int32_t> label({0, 0, 0, 0});
  const Placed<float> mask({1, 1, 1, 0});
  const SampleMask per_row = {mask.get(), 1};
  EXPECT_FLOAT_EQ(Written(Accuracy, logits.get(), label.get(), 4, 2, 4, per_row), 0.5f);
  EXPECT_TRUE(std::isfinite(Written(Smoothed(CrossEntropy, 0.0f), logits.get(), label.get(), 4, 2, 4, per_row)));
  const Placed<float> per_sample({1, 0});
  const SampleMask per_two = {per_sample.get(), 2};
  EXPECT_FLOAT_EQ(Written(Accuracy, logits.get(), label.get(), 4, 2, 4, per_two), 0.25f);
  const Placed<float> target({0, 0, 0, 0});
  EXPECT_FLOAT_EQ(Written(Mse, logits.get(), target.get(), 4, 4, SampleMask{}), 10.0f / 4);
  EXPECT_FLOAT_EQ(Written(Mae, logits.get(), target.get(), 4, 4, per_two), 3.0f / 4);
}

TEST(Losses, WeightsOfSamples) {
  const Placed<float> x({1.0f, 2.0f, 3.0f, 4.0f});
  const Placed<float> target({0.0f, 0.0f, 0.0f, 0.0f});
  const Placed<float> weights({0.5f, 2.0f});
  EXPECT_FLOAT_EQ(Written(Mse, x.get(), target.get(), 4, 4, SampleMask{weights.get(), 2}), 52.5f / 4);
}

TEST(Losses, HuberAndBinaryCrossEntropy) {
  const Placed<float> x({2.0f, -3.0f, 0.25f, 90.0f});
  const Placed<float> target({1.0f, 0.0f, 0.5f, 1.0f});
  // 0.5 (1 - 0.25), 0.5 (3 - 0.25), 0.25^2 / 2, 0.5 (89 - 0.25)
  EXPECT_NEAR(Written(Huber, x.get(), target.get(), 0.5f, 4, 8, SampleMask{}), (0.375 + 1.375 + 0.03125 + 44.375) / 8,
              1e-5);
  const double logs = std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-3.0)) + std::log1p(std::exp(0.25)) - 0.125;
  EXPECT_NEAR(Written(BceWithLogits, x.get(), target.get(), 4, 8, SampleMask{}), logs / 8, 1e-6);
  const Placed<float> mask({0.0f, 1.0f, 1.0f, 0.0f});
  EXPECT_NEAR(Written(Huber, x.get(), target.get(), 0.5f, 4, 8, SampleMask{mask.get(), 1}), (1.375 + 0.03125) / 8,
              1e-6);
}

TEST(Losses, SharesOfManyElements) {
  for (const int64_t count : {0, 1, 4095, 4097, 100003}) {
    const std::vector<float> x = RandomValues(count, 1);
    const std::vector<float> y = RandomValues(count, 2);
    double squares = 0;
    double distances = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      squares += std::pow(static_cast<double>(x[i]) - y[i], 2);
      distances += std::abs(static_cast<double>(x[i]) - y[i]);
    }
    const double whole = 2.0 * static_cast<double>(count) + 1;
    const Placed<float> first(x, 1);
    const Placed<float> second(y, 1);
    EXPECT_NEAR(Written(Mse, first.get(), second.get(), count, 2 * count + 1, SampleMask{}), squares / whole, 1e-6);
    EXPECT_NEAR(Written(Mae, first.get(), second.get(), count, 2 * count + 1, SampleMask{}), distances / whole, 1e-6);
  }
  const Placed<int32_t> x({0, 4, 9, 2});
  const Placed<int32_t> y({0, 1, 9, 1});
  EXPECT_EQ(Written(ShareOfEqual, x.get(), y.get(), 4, 8, SampleMask{}), 0.25f);
}

}  // namespace
}  // namespace cleave::runtime
