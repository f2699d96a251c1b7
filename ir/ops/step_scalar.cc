// A number that hangs on the training step t, counted from 1:
//   learning_rate    by the schedule (ir/training)
//   bias_correction  1 / (1 - beta^t): Kingma and Ba, Adam, 2015, algorithm 1

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/sources.h"
#include "ir/ops/table.h"
#include "ir/training/training.h"

namespace cleave {
namespace {

Schedule ScheduleOf(const Attributes& attributes) {
  Schedule schedule{.rate = attributes.GetDouble("rate"),
                    .warmup_steps = attributes.GetInt("warmup_steps"),
                    .total_steps = attributes.GetInt("total_steps"),
                    .final_rate = attributes.GetDouble("final_rate")};
  for (Schedule::Form form : {Schedule::Form::kConstant, Schedule::Form::kLinearWarmup, Schedule::Form::kCosine}) {
    if (attributes.GetString("schedule") == ScheduleFormName(form)) schedule.form = form;
  }
  return schedule;
}

InferResult InferStepScalar(Types, const Attributes& attributes) {
  if (auto error = CheckWord(attributes, "form", {"learning_rate", "bias_correction"})) return *error;
  if (auto error = CheckWord(attributes, "schedule", {"constant", "linear_warmup", "cosine"})) return *error;
  const double beta = attributes.GetDouble("beta");
  if (beta < 0 || beta >= 1) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`beta` is ", FormatDouble(beta)),
                   .notes = {"a decay lies in [0, 1)"}};
  }
  return TensorType{DType::kF32, {}};
}

void EvaluateStepScalar(const Evaluation& evaluation) {
  const Attributes& attributes = evaluation.attributes;
  evaluation.output.values[0] =
      attributes.GetString("form") == "learning_rate"
          ? LearningRate(ScheduleOf(attributes), evaluation.step)
          : 1 / (1 - std::pow(attributes.GetDouble("beta"), static_cast<double>(evaluation.step)));
}

}  // namespace

OpDefinition DefineStepScalar() {
  OpDefinition definition = SourceOp("step_scalar", false, "a number that depends on the training step");
  definition.signature = {{.name = "form", .kind = ArgumentKind::kString},
                          {.name = "beta", .kind = ArgumentKind::kFloat, .default_value = 0.0},
                          {.name = "schedule", .kind = ArgumentKind::kString, .default_value = std::string("constant")},
                          {.name = "rate", .kind = ArgumentKind::kFloat, .default_value = 0.0},
                          {.name = "warmup_steps", .kind = ArgumentKind::kInt, .default_value = int64_t{0}},
                          {.name = "total_steps", .kind = ArgumentKind::kInt, .default_value = int64_t{0}},
                          {.name = "final_rate", .kind = ArgumentKind::kFloat, .default_value = 0.0}};
  definition.infer = InferStepScalar;
  definition.evaluate = EvaluateStepScalar;
  definition.resize = nullptr;
  return definition;
}

}  // namespace cleave
