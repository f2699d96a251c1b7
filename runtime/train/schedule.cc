#include "runtime/train/schedule.h"

#include <algorithm>
#include <cmath>

namespace cleave::runtime {
namespace {

// Of a quantity that grows linearly from 0 at step 0 to 1 at `end`.
double Progress(int64_t step, int64_t end) {
  return end <= 0 ? 1.0 : std::min(1.0, static_cast<double>(step) / static_cast<double>(end));
}

}  // namespace

double LearningRate(const Schedule& schedule, int64_t step) {
  constexpr double kPi = 3.141592653589793;
  const double warmed_up = schedule.rate * Progress(step, schedule.warmup_steps);
  switch (schedule.form) {
    case Schedule::Form::kConstant:
      return schedule.rate;
    case Schedule::Form::kLinearWarmup:
      return warmed_up;
    case Schedule::Form::kCosine:
      if (step <= schedule.warmup_steps) return warmed_up;
      return schedule.final_rate + (schedule.rate - schedule.final_rate) / 2 *
                                       (1 + std::cos(kPi * Progress(step - schedule.warmup_steps,
                                                                    schedule.total_steps - schedule.warmup_steps)));
  }
  return schedule.rate;
}

double BiasCorrection(double beta, int64_t step) { return 1 - std::pow(beta, static_cast<double>(step)); }

}  // namespace cleave::runtime
