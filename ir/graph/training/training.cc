#include "ir/graph/training/training.h"

#include <algorithm>
#include <cmath>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

constexpr double kPi = 3.14159265358979323846;

double WarmedUp(const Schedule& schedule, double t) {
  if (schedule.warmup_steps <= 0) return schedule.rate;
  return schedule.rate * std::min(1.0, t / static_cast<double>(schedule.warmup_steps));
}

double Cosine(const Schedule& schedule, int64_t step) {
  if (step <= schedule.warmup_steps) return WarmedUp(schedule, static_cast<double>(step));
  if (step >= schedule.total_steps) return schedule.final_rate;
  const double done = static_cast<double>(step - schedule.warmup_steps) /
                      static_cast<double>(schedule.total_steps - schedule.warmup_steps);
  return schedule.final_rate + (schedule.rate - schedule.final_rate) * (1 + std::cos(kPi * done)) / 2;
}

}  // namespace

absl::string_view ScheduleFormName(Schedule::Form form) {
  switch (form) {
    case Schedule::Form::kConstant:
      return "constant";
    case Schedule::Form::kLinearWarmup:
      return "linear_warmup";
    case Schedule::Form::kCosine:
      return "cosine";
  }
  CLEAVE_UNREACHABLE();
}

absl::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      return "train";
    case Mode::kEvaluate:
      return "evaluate";
    case Mode::kPredict:
      return "predict";
    case Mode::kGenerate:
      return "generate";
  }
  return "";
}

std::optional<Mode> ParseMode(absl::string_view name) {
  for (const Mode mode : {Mode::kTrain, Mode::kEvaluate, Mode::kPredict, Mode::kGenerate}) {
    if (ModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

absl::string_view PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "f32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
  }
  CLEAVE_UNREACHABLE();
}

std::optional<Precision> ParsePrecision(absl::string_view name) {
  for (Precision precision : {Precision::kF32, Precision::kTf32, Precision::kBf16}) {
    if (name == PrecisionName(precision)) return precision;
  }
  return std::nullopt;
}

double LearningRate(const Schedule& schedule, int64_t step) {
  CLEAVE_CHECK(step >= 1) << "step " << step;
  switch (schedule.form) {
    case Schedule::Form::kConstant:
      return schedule.rate;
    case Schedule::Form::kLinearWarmup:
      return WarmedUp(schedule, static_cast<double>(step));
    case Schedule::Form::kCosine:
      return Cosine(schedule, step);
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace cleave::ir
