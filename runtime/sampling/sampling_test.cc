#include "runtime/sampling/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The seed of this run: CLEAVE_TEST_SEED, or always the same.
uint64_t Seed() {
  const char* const text = std::getenv("CLEAVE_TEST_SEED");
  return text == nullptr ? 20 : std::strtoull(text, nullptr, 10);
}

int32_t Draw(const std::vector<float>& logits, const Sampling& sampling, const SamplingPlace& place) {
  const Result<int32_t> token = SampleToken(logits.data(), static_cast<int64_t>(logits.size()), sampling, place);
  EXPECT_TRUE(token.ok()) << token.error().message;
  return token.ok() ? token.value() : -1;
}

// How often each token comes in many draws.
std::vector<int64_t> Counts(const std::vector<float>& logits, const Sampling& sampling, int64_t draws) {
  std::vector<int64_t> counts(logits.size());
  for (int64_t i = 0; i < draws; ++i) ++counts[static_cast<size_t>(Draw(logits, sampling, {Seed(), i % 7, i / 7}))];
  return counts;
}

// Expects that the counts are those of the probabilities. With k degrees of freedom, chi-square has mean k and
// deviation sqrt(2 k); the bound is so far above that fewer than one seed in a million reaches it.
void ExpectLaw(const std::vector<int64_t>& counts, const std::vector<double>& probabilities) {
  double draws = 0;
  for (const int64_t count : counts) draws += static_cast<double>(count);
  double chi_square = 0;
  double degrees = -1;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
      continue;
    }
    const double expected = draws * probabilities[i];
    chi_square += (static_cast<double>(counts[i]) - expected) * (static_cast<double>(counts[i]) - expected) / expected;
    degrees += 1;
  }
  EXPECT_LT(chi_square, degrees + 6 * std::sqrt(2 * degrees) + 20) << "CLEAVE_TEST_SEED=" << Seed();
}

std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double probability : probabilities) logits.push_back(static_cast<float>(std::log(probability)));
  return logits;
}

TEST(SampleToken, WithoutTemperatureTheLargestLogitIsTaken) {
  EXPECT_EQ(Draw({0.5f, 3, -1, 3}, {0}, {}), 1);
  EXPECT_EQ(Draw({-5, -4}, {0, 1, 0.1}, {1, 2, 3}), 1);
  EXPECT_EQ(Draw({7}, {0}, {}), 0);
}

TEST(SampleToken, FrequenciesAreProbabilities) {
  const std::vector<double> law = {0.1, 0.4, 0.05, 0.25, 0.2};
  ExpectLaw(Counts(LogitsOf(law), {}, 40000), law);
}

TEST(SampleToken, ATemperatureFlattens) {
  // The square roots of 0.64 and 0.04 are as 4 to 1; those of 0.16, 0.16 lie between.
  ExpectLaw(Counts(LogitsOf({0.64, 0.16, 0.16, 0.04}), {2}, 40000), {8.0 / 18, 4.0 / 18, 4.0 / 18, 2.0 / 18});
  ExpectLaw(Counts(LogitsOf({0.6, 0.3, 0.1}), {0.5}, 40000), {0.36 / 0.46, 0.09 / 0.46, 0.01 / 0.46});
}

TEST(SampleToken, TopKKeepsTheLargest) {
  const std::vector<float> logits = LogitsOf({0.1, 0.4, 0.05, 0.25, 0.2});
  ExpectLaw(Counts(logits, {1, 3}, 40000), {0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85});
  ExpectLaw(Counts(logits, {1, 1}, 100), {0, 1, 0, 0, 0});
  ExpectLaw(Counts(logits, {1, 99}, 40000), {0.1, 0.4, 0.05, 0.25, 0.2});
  ExpectLaw(Counts({1, 1, 1, 1}, {1, 2}, 10000), {0.5, 0.5, 0, 0});
}

TEST(SampleToken, TopPKeepsTheFewestThatReachIt) {
  const std::vector<float> logits = {0, 2, 1, 2};
  const double e = std::exp(1.0);
  const double total = 1 + e + 2 * e * e;
  ExpectLaw(Counts(logits, {1, 0, 0.01}, 100), {0, 1, 0, 0});
  ExpectLaw(Counts(logits, {1, 0, e * e / total + 1e-9}, 10000), {0, 0.5, 0, 0.5});
  ExpectLaw(Counts(logits, {1, 0, 2 * e * e / total - 1e-9}, 10000), {0, 0.5, 0, 0.5});
  const double three = e + 2 * e * e;
  ExpectLaw(Counts(logits, {1, 0, 2 * e * e / total + 1e-9}, 40000), {0, e * e / three, e / three, e * e / three});
  ExpectLaw(Counts(logits, {1, 0, 1}, 40000), {1 / total, e * e / total, e / total, e * e / total});
  ExpectLaw(Counts(logits, {1, 0, 1 - 1e-12}, 40000), {1 / total, e * e / total, e / total, e * e / total});
}

TEST(SampleToken, TopPIsAShareOfWhatTheOtherSettingsLeave) {
  // Of 0.4, 0.25 and 0.2, the first has 0.47 and the first two 0.76.
  const std::vector<float> logits = LogitsOf({0.1, 0.4, 0.05, 0.25, 0.2});
  ExpectLaw(Counts(logits, {1, 3, 0.47}, 100), {0, 1, 0, 0, 0});
  ExpectLaw(Counts(logits, {1, 3, 0.7}, 40000), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  ExpectLaw(Counts(LogitsOf({0.6, 0.3, 0.1}), {0.5, 0, 0.78}, 100), {1, 0, 0});
}

TEST(SampleToken, ExtremeLogitsAndTemperatures) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(Draw({-largest, largest, 0}, {}, {}), 1);
  EXPECT_EQ(Draw({1, 1.001f}, {1e-300}, {}), 1);
  EXPECT_EQ(Draw({1, 1.001f}, {std::numeric_limits<double>::denorm_min(), 2, 0.5}, {}), 1);
  ExpectLaw(Counts({-largest, largest}, {std::numeric_limits<double>::max()}, 10000), {0.5, 0.5});
  ExpectLaw(Counts({3, 3}, {std::numeric_limits<double>::denorm_min()}, 10000), {0.5, 0.5});
}

TEST(SampleToken, ADrawIsAFunctionOfItsPlace) {
  const std::vector<float> logits(1000);
  const auto draw = [&](uint64_t seed, int64_t sequence, int64_t place) {
    return Draw(logits, {}, {seed, sequence, place});
  };
  int same = 0;
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(draw(1, 2, i), draw(1, 2, i));
    same += (draw(1, 2, i) == draw(2, 2, i)) + (draw(1, 2, i) == draw(1, 3, i)) + (draw(1, 2, i) == draw(1, 2, i + 1)) +
            (draw(1, 2, i) == draw(1, i, 2));
  }
  EXPECT_LT(same, 10);
  // The numbers of a seed stay the same from version to version.
  EXPECT_EQ(draw(0, 0, 0), 384);
  EXPECT_EQ(draw(1, 2, 3), 376);
}

TEST(SampleToken, LogitsThatAreNotFinite) {
  for (const float wrong : {kInfinity, -kInfinity, std::nanf("")}) {
    for (const double temperature : {0.0, 1.0}) {
      const float logits[] = {0, 1, wrong};
      const Result<int32_t> token = SampleToken(logits, 3, {temperature}, {1, 4, 9});
      ASSERT_FALSE(token.ok());
      EXPECT_EQ(token.error().code, ExitCode::kNotFinite);
      EXPECT_EQ(token.error().message.find("cannot draw token 9 of sequence 4: the logit of token 2 is "), 0u)
          << token.error().message;
    }
  }
}

TEST(CheckSampling, RangesOfSettings) {
  for (const Sampling& sampling : {Sampling(), Sampling{0}, Sampling{100, 1, 1e-9}, Sampling{1, INT64_MAX, 1}}) {
    EXPECT_FALSE(CheckSampling(sampling).has_value());
  }
  const double nan = std::nan("");
  for (const Sampling& sampling :
       {Sampling{-0.1}, Sampling{nan}, Sampling{HUGE_VAL}, Sampling{1, -1}, Sampling{1, 0, 0}, Sampling{1, 0, -0.5},
        Sampling{1, 0, 1.0001}, Sampling{1, 0, nan}}) {
    const std::optional<Error> error = CheckSampling(sampling);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, ExitCode::kUsage);
  }
  EXPECT_EQ(CheckSampling({-0.5})->message, "the temperature is -0.5, and must be finite and at least 0");
  EXPECT_EQ(CheckSampling({1, -3})->message, "top_k is -3, and must be a number of tokens, or 0 for all");
  EXPECT_EQ(CheckSampling({1, 0, 1.5})->message, "top_p is 1.5, and must be above 0 and at most 1");
}

}  // namespace
}  // namespace cleave::runtime
