// A number that hangs on the training step t, counted from 1:
//   learning_rate    by the schedule (ir/training)
//   bias_correction  1 / (1 - beta^t): Kingma and Ba, Adam, 2015, algorithm 1

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/define.h"
#include "ir/ops/sources.h"
#include "ir/training/training.h"

namespace cleave {
namespace {

Schedule ScheduleOf(const Attributes& attributes) {
  Schedule schedule{.rate = attributes.Get(attribute::kRate),
                    .warmup_steps = attributes.Get(attribute::kWarmupSteps),
                    .total_steps = attributes.Get(attribute::kTotalSteps),
                    .final_rate = attributes.Get(attribute::kFinalRate)};
  for (Schedule::Form form : {Schedule::Form::kConstant, Schedule::Form::kLinearWarmup, Schedule::Form::kCosine}) {
    if (attributes.Get(attribute::kSchedule) == ScheduleFormName(form)) schedule.form = form;
  }
  return schedule;
}

InferResult InferStepScalar(Types, const Attributes& attributes) {
  if (auto error = CheckWord(attributes, attribute::kForm, {"learning_rate", "bias_correction"})) return *error;
  if (auto error = CheckWord(attributes, attribute::kSchedule, {"constant", "linear_warmup", "cosine"})) return *error;
  const double beta = attributes.Get(attribute::kBeta);
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
      attributes.Get(attribute::kForm) == "learning_rate"
          ? LearningRate(ScheduleOf(attributes), evaluation.step)
          : 1 / (1 - std::pow(attributes.Get(attribute::kBeta), static_cast<double>(evaluation.step)));
}

}  // namespace

OpDefinition DefineStepScalar() {
  OpDefinition definition = SourceOp(false, "a number that depends on the training step");
  definition.signature = {RequiredAttribute(attribute::kForm),
                          OptionalAttribute(attribute::kBeta, 0.0),
                          OptionalAttribute(attribute::kSchedule, "constant"),
                          OptionalAttribute(attribute::kRate, 0.0),
                          OptionalAttribute(attribute::kWarmupSteps, 0),
                          OptionalAttribute(attribute::kTotalSteps, 0),
                          OptionalAttribute(attribute::kFinalRate, 0.0)};
  definition.infer = InferStepScalar;
  definition.evaluate = EvaluateStepScalar;
  definition.resize = nullptr;
  return definition;
}

}  // namespace cleave
