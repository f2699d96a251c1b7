#include "runtime/train/schedule.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(LearningRate, Constant) {
  const Schedule schedule = {Schedule::Form::kConstant, 0.3};
  EXPECT_EQ(LearningRate(schedule, 1), 0.3);
  EXPECT_EQ(LearningRate(schedule, 1000000), 0.3);
}

TEST(LearningRate, LinearWarmup) {
  const Schedule schedule = {Schedule::Form::kLinearWarmup, 0.4, 4};
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 1), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 3), 0.3);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 4), 0.4);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 5), 0.4);
  EXPECT_DOUBLE_EQ(LearningRate({Schedule::Form::kLinearWarmup, 0.4, 0}, 1), 0.4);
}

TEST(LearningRate, Cosine) {
  const Schedule schedule = {Schedule::Form::kCosine, 1.0, 10, 110, 0.2};
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 5), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 10), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 60), 0.6);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 110), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 5000), 0.2);
  for (int64_t step = 10; step < 110; ++step) EXPECT_GT(LearningRate(schedule, step), LearningRate(schedule, step + 1));
}

TEST(BiasCorrection, IsOneMinusThePower) {
  EXPECT_DOUBLE_EQ(BiasCorrection(0.9, 1), 0.1);
  EXPECT_DOUBLE_EQ(BiasCorrection(0.9, 2), 0.19);
  EXPECT_NEAR(BiasCorrection(0.999, 1), 1e-3, 1e-15);
  EXPECT_DOUBLE_EQ(BiasCorrection(0.9, 100000), 1.0);
}

}  // namespace
}  // namespace cleave::runtime
