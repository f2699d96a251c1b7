#include "runtime/train/best.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Best, TakesTheLeastOrTheGreatest) {
  Best least({.measure = "loss", .is_least = true}, 0);
  EXPECT_TRUE(least.Take(10, 2));
  EXPECT_FALSE(least.Take(20, 2)) << "of equal ones the first";
  EXPECT_TRUE(least.Take(30, -1));
  EXPECT_FALSE(least.Take(40, 0));
  EXPECT_EQ(least.so_far(), (BestSoFar{"min(loss)", -1, 30, 1}));
  EXPECT_EQ(least.Text(), "min(loss) is -1, of step 30");
  Best greatest({.measure = "accuracy"}, 0);
  EXPECT_TRUE(greatest.Take(10, -5)) << "the first";
  EXPECT_TRUE(greatest.Take(20, 0.5));
  EXPECT_EQ(greatest.so_far(), (BestSoFar{"max(accuracy)", 0.5, 20, 0}));
}

TEST(Best, WhatIsNotFiniteIsNeverBetter) {
  for (const bool is_least : {false, true}) {
    Best best({.measure = "loss", .is_least = is_least}, 3);
    for (const double value : {kInfinity, -kInfinity}) EXPECT_FALSE(best.Take(1, value));
    EXPECT_EQ(best.so_far()->step, 0);
    EXPECT_FALSE(best.patience_is_over());
    EXPECT_FALSE(best.Take(2, std::nan("")));
    EXPECT_TRUE(best.patience_is_over());
    EXPECT_EQ(best.Text(), std::string(is_least ? "min" : "max") + "(loss) was never finite");
    EXPECT_TRUE(best.Take(3, 1));
    EXPECT_FALSE(best.Take(4, std::nan("")));
    EXPECT_EQ(best.so_far()->step, 3);
  }
}

TEST(Best, NothingIsLookedForWithoutAMeasure) {
  const Best best({}, 5);
  EXPECT_FALSE(best.is_on());
  EXPECT_FALSE(best.patience_is_over());
  EXPECT_EQ(CriterionText({}), "");
}

// Wherever training is interrupted, it finds the same and stops at the same place.
TEST(Best, GoesOnAsIfNeverInterrupted) {
  const auto seed = static_cast<unsigned>(std::random_device()());
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const Criterion criterion = {.measure = "loss", .is_least = round % 2 == 0};
    Best whole(criterion, 3);
    std::optional<BestSoFar> saved;
    for (int64_t step = 1; step < 30 && !whole.patience_is_over(); ++step) {
      const double value = std::uniform_int_distribution<int>(0, 9)(random);
      Best resumed(criterion, 3);
      resumed.GoOnFrom(saved);
      EXPECT_EQ(resumed.Take(step, value), whole.Take(step, value)) << "seed " << seed;
      EXPECT_EQ(resumed.patience_is_over(), whole.patience_is_over()) << "seed " << seed;
      saved = resumed.so_far();
    }
    EXPECT_EQ(whole.so_far(), saved) << "seed " << seed;
  }
}

TEST(Best, BeginsAnewWithAnotherCriterion) {
  Best best({.measure = "loss", .is_least = true}, 2);
  best.GoOnFrom(BestSoFar{"max(loss)", 7, 10, 2});
  EXPECT_EQ(best.so_far(), (BestSoFar{"min(loss)", 0, 0, 0}));
  best.GoOnFrom(std::nullopt);
  EXPECT_EQ(best.so_far(), (BestSoFar{"min(loss)", 0, 0, 0}));
  best.GoOnFrom(BestSoFar{"min(loss)", 7, 10, 2});
  EXPECT_TRUE(best.patience_is_over());
}

}  // namespace
}  // namespace cleave::runtime
