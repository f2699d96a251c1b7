// Numbers that depend on the training step: learning rate and Adam's bias corrections, in double.
#ifndef CLEAVE_RUNTIME_TRAIN_SCHEDULE_H_
#define CLEAVE_RUNTIME_TRAIN_SCHEDULE_H_

#include <cstdint>

namespace cleave::runtime {

// The learning rate at step t, counted from 1.
//   kConstant      rate
//   kLinearWarmup  rate * min(1, t / warmup_steps)
//   kCosine        after the warm-up, up to total_steps:
//                  final_rate + (rate - final_rate) * (1 + cos(pi * (t - warmup) / (total - warmup))) / 2
//                  and then final_rate
struct Schedule {
  enum class Form { kConstant, kLinearWarmup, kCosine };
  Form form = Form::kConstant;
  double rate = 0.01;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  double final_rate = 0;
};

double LearningRate(const Schedule& schedule, int64_t step);

// 1 - beta^step: Kingma and Ba, Adam (2015), algorithm 1.
double BiasCorrection(double beta, int64_t step);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_SCHEDULE_H_
