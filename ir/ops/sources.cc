// Ops without inputs, whose strategy is the layout in which their value is stored.

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"
#include "ir/training/training.h"

namespace cleave {
namespace {

Rule SourceRule(Types, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  return rule;
}

// Inference of a source by its attributes `shape` and `dtype`, f32 where there is none.
InferResult InferSource(Types, const Attributes& attributes) {
  TensorType type;
  if (attributes.Has("dtype")) {
    if (auto error = CheckWord(attributes, "dtype", {"f32", "i32"})) return *error;
    type.dtype = *ParseDType(attributes.GetString("dtype"));
  }
  type.shape = attributes.GetInts("shape");
  if (auto error = CheckSizes(type.shape, "shape")) return *error;
  return type;
}

// A definition with one parallel factor per dimension, attribute `shape`, and `dtype` where `has_dtype`; f32 otherwise.
// Not callable: the language has its own words for sources.
OpDefinition SourceOp(std::string name, bool has_dtype, std::string summary) {
  OpDefinition definition{.name = std::move(name),
                          .op_class = OpClass::kSource,
                          .callable = false,
                          .signature = {{.name = "shape", .kind = ArgumentKind::kInts}},
                          .summary = std::move(summary),
                          .infer = InferSource,
                          .rule = SourceRule,
                          .flops = FlopsPerElement<0>,
                          .resize = ResizeShape};
  if (has_dtype) {
    definition.signature.push_back(
        {.name = "dtype", .kind = ArgumentKind::kDType, .default_value = std::string("f32")});
  }
  return definition;
}

// A trained tensor. Its initial values, by `init`:
//   constant  first
//   uniform   in [first, second)
//   normal    with mean first and deviation second
//   npy       what the .npy file `file` holds; its path starts from the folder of the model file
// `local`: of a manual model, each rank has values of its own.
// Bounds that hang on the fans of the tensor (he_uniform and the like) are resolved by the frontend.

InferResult InferParameter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckWord(attributes, "init", {"constant", "uniform", "normal", "npy"})) return *error;
  const std::string& init = attributes.GetString("init");
  const double first = attributes.GetDouble("first");
  const double second = attributes.GetDouble("second");
  if (init == "uniform" && first > second) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("uniform values from ", FormatDouble(first), " to ", FormatDouble(second)),
                   .notes = {"the first bound is not above the second"}};
  }
  if ((init == "npy") == attributes.GetString("file").empty()) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`", init, "` values ", init == "npy" ? "without a file" : "and a file"),
                   .notes = {"`file` goes with `npy`, and only with it"}};
  }
  if (init == "normal" && second < 0) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("normal values with deviation ", FormatDouble(second)),
                   .notes = {"a deviation is not negative"}};
  }
  return InferSource(inputs, attributes);
}

void EvaluateConstant(const Evaluation& evaluation) {
  std::fill(evaluation.output.values.begin(), evaluation.output.values.end(), evaluation.attributes.GetDouble("value"));
}

// A number that hangs on the training step t, counted from 1:
//   learning_rate    by the schedule (ir/training)
//   bias_correction  1 / (1 - beta^t): Kingma and Ba, Adam, 2015, algorithm 1

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

OpDefinition DefineInput() {
  OpDefinition definition = SourceOp("input", true, "a batch of data, by the name of the model's input");
  definition.signature.push_back({.name = "data", .kind = ArgumentKind::kString});
  return definition;
}

OpDefinition DefineParameter() {
  OpDefinition definition = SourceOp("parameter", false, "a trained tensor");
  definition.signature.push_back(
      {.name = "init", .kind = ArgumentKind::kString, .default_value = std::string("constant")});
  definition.signature.push_back({.name = "first", .kind = ArgumentKind::kFloat, .default_value = 0.0});
  definition.signature.push_back({.name = "second", .kind = ArgumentKind::kFloat, .default_value = 0.0});
  definition.signature.push_back({.name = "file", .kind = ArgumentKind::kString, .default_value = std::string()});
  definition.signature.push_back({.name = "local", .kind = ArgumentKind::kBool, .default_value = false});
  definition.infer = InferParameter;
  return definition;
}

OpDefinition DefineState() {
  OpDefinition definition = SourceOp("state", false, "a slot of the optimizer; zeros at first");
  // As that of the parameter to which the slot belongs.
  definition.signature.push_back({.name = "local", .kind = ArgumentKind::kBool, .default_value = false});
  return definition;
}

OpDefinition DefineConstant() {
  OpDefinition definition = SourceOp("constant", true, "a tensor filled with one value");
  definition.signature[0].default_value = std::vector<int64_t>{};
  definition.signature.push_back({.name = "value", .kind = ArgumentKind::kFloat});
  definition.evaluate = EvaluateConstant;
  return definition;
}

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
