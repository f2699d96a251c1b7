#include "ir/graph/training/training.h"

#include <vector>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(TrainingTest, LearningRates) {
  const Schedule constant{.rate = 0.1};
  const Schedule warmup{.form = Schedule::Form::kLinearWarmup, .rate = 0.4, .warmup_steps = 4};
  const Schedule cosine{
      .form = Schedule::Form::kCosine, .rate = 1.0, .warmup_steps = 2, .total_steps = 10, .final_rate = 0.2};
  struct RateAtStep {
    Schedule schedule;
    int64_t step;
    double expected;
  };
  const std::vector<RateAtStep> cases = {{constant, 1, 0.1}, {constant, 1000, 0.1}, {warmup, 1, 0.1}, {warmup, 3, 0.3},
                                         {warmup, 4, 0.4},   {warmup, 9, 0.4},      {cosine, 1, 0.5}, {cosine, 2, 1.0},
                                         {cosine, 6, 0.6},   {cosine, 10, 0.2},     {cosine, 99, 0.2}};
  for (const RateAtStep& item : cases) {
    EXPECT_NEAR(LearningRate(item.schedule, item.step), item.expected, 1e-12)
        << ScheduleFormName(item.schedule.form) << " at step " << item.step;
  }
}

// Without warm-up a cosine starts at the rate and never rises.
TEST(TrainingTest, CosineFalls) {
  const Schedule cosine{.form = Schedule::Form::kCosine, .rate = 0.3, .total_steps = 50};
  double before = cosine.rate;
  for (int64_t step = 1; step <= 60; ++step) {
    const double rate = LearningRate(cosine, step);
    EXPECT_LE(rate, before);
    EXPECT_GE(rate, 0);
    before = rate;
  }
  EXPECT_EQ(before, 0);
}

TEST(TrainingTest, StepsCountFromOne) { EXPECT_DEATH(LearningRate(Schedule{}, 0), "step 0"); }

}  // namespace
}  // namespace cleave::ir
