#include "codegen/source/settings.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"

namespace cleave {
namespace {

// The call that makes the DataSpec.
absl::StatusOr<std::string> DataText(const DataSource& data) {
  if (data.kind == "mnist") return absl::StrCat("Mnist(", StringLiteral(data.path), ")");
  if (data.kind == "npy") {
    return absl::StrCat("Npy({",
                        absl::StrJoin(data.files, ", ",
                                      [](std::string* out, const auto& file) {
                                        absl::StrAppend(out, "{", StringLiteral(file.first), ", ",
                                                        StringLiteral(file.second), "}");
                                      }),
                        "})");
  }
  if (data.kind == "tokens") return absl::StrCat("Tokens(", StringLiteral(data.path), ")");
  if (data.kind != "digits" && data.kind != "synthetic") {
    return absl::InvalidArgumentError(absl::StrCat("no data source `", data.kind, "` for generated programs"));
  }
  const bool digits = data.kind == "digits";
  const absl::string_view function = digits ? "Digits" : "Synthetic";
  if (data.numbers.empty()) return absl::StrCat(function, "()");
  const auto number = [&](const std::string& name, int64_t otherwise) {
    const auto found = data.numbers.find(name);
    return found == data.numbers.end() ? otherwise : static_cast<int64_t>(found->second);
  };
  return absl::StrCat(function, "(", number("train", digits ? 20000 : 8192), ", ", number("test", digits ? 4000 : 0),
                      ")");
}

absl::string_view FormText(Schedule::Form form) {
  switch (form) {
    case Schedule::Form::kConstant:
      return "Schedule::Form::kConstant";
    case Schedule::Form::kLinearWarmup:
      return "Schedule::Form::kLinearWarmup";
    case Schedule::Form::kCosine:
      return "Schedule::Form::kCosine";
  }
  return "";
}

Schedule ScheduleOf(const Attributes& attributes) {
  Schedule schedule{.rate = attributes.Get(attribute::kRate),
                    .warmup_steps = attributes.Get(attribute::kWarmupSteps),
                    .total_steps = attributes.Get(attribute::kTotalSteps),
                    .final_rate = attributes.Get(attribute::kFinalRate)};
  for (const Schedule::Form form :
       {Schedule::Form::kConstant, Schedule::Form::kLinearWarmup, Schedule::Form::kCosine}) {
    if (attributes.Get(attribute::kSchedule) == ScheduleFormName(form)) schedule.form = form;
  }
  return schedule;
}

bool HasProducts(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const Compute* compute = ComputeOf(step);
    return compute != nullptr && DefinitionOf(compute->kind).op_class == OpClass::kProduct;
  });
}

}  // namespace

std::string ScheduleText(const Schedule& schedule) {
  std::string text = absl::StrCat("{.form = ", FormText(schedule.form), ", .rate = ", FormatDouble(schedule.rate));
  if (schedule.form != Schedule::Form::kConstant) absl::StrAppend(&text, ", .warmup_steps = ", schedule.warmup_steps);
  if (schedule.form == Schedule::Form::kCosine) {
    absl::StrAppend(&text, ", .total_steps = ", schedule.total_steps,
                    ", .final_rate = ", FormatDouble(schedule.final_rate));
  }
  return absl::StrCat(text, "}");
}

std::string StepScalarText(const Attributes& attributes, const Optimizer& optimizer) {
  if (attributes.Get(attribute::kForm) == "bias_correction") {
    const double beta = attributes.Get(attribute::kBeta);
    std::string divisor = absl::StrCat("BiasCorrection(", FormatDouble(beta), ", scalars.step)");
    if (beta == optimizer.beta1) {
      divisor = "scalars.bias_correction1";
    } else if (beta == optimizer.beta2) {
      divisor = "scalars.bias_correction2";
    }
    return absl::StrCat("static_cast<float>(1.0 / ", divisor, ")");
  }
  const Schedule schedule = ScheduleOf(attributes);
  if (schedule == optimizer.learning_rate) return "static_cast<float>(scalars.learning_rate)";
  return absl::StrCat("static_cast<float>(LearningRate(", ScheduleText(schedule), ", scalars.step))");
}

absl::Status EmitMain(const Emission& emission, const std::string& type, SourceWriter& writer) {
  const Training& training = emission.training;
  CLEAVE_ASSIGN_OR_RETURN(const std::string data, DataText(training.data));
  const auto set = [&](absl::string_view field, const std::string& value) {
    writer.Assign(absl::StrCat("settings.", field), value);
  };
  writer.Open("int main(int argc, char** argv) {");
  writer.Line("TrainingSettings settings;");
  set("model_name", StringLiteral(emission.program.model));
  set("model_file", StringLiteral(emission.Place(0)));
  for (const MeshAxis& axis : emission.program.mesh.axes()) {
    writer.Line(absl::StrCat("settings.mesh.push_back({", StringLiteral(axis.name), ", ", axis.size, "});"));
  }
  if (emission.sizes.folded()) set("only_rank", absl::StrCat(*emission.sizes.rank()));
  set("data", data);
  for (const Step& step : emission.program.steps) {
    const Compute* compute = ComputeOf(step);
    if (compute == nullptr || compute->kind != OpKind::kParameter) continue;
    if (compute->attributes.Get(attribute::kInit) != "npy") continue;
    const std::filesystem::path path =
        std::filesystem::path(training.folder) / compute->attributes.Get(attribute::kFile);
    writer.Call("settings.parameter_files.push_back(",
                {absl::StrCat("FromNpy(", StringLiteral(step.name), ", ",
                              StringLiteral(path.lexically_normal().string()), ")")},
                ");");
  }
  set("epochs", absl::StrCat(training.epochs));
  if (training.steps > 0) set("steps", absl::StrCat(training.steps));
  set("log_every", absl::StrCat(training.log_every));
  if (training.log == LogFormat::kMindSpore) set("log", "LogFormat::kMindSpore");
  set("seed", absl::StrCat(training.seed));
  set("schedule", ScheduleText(training.optimizer.learning_rate));
  const Optimizer::Kind kind = training.optimizer.kind;
  if (kind == Optimizer::Kind::kAdam || kind == Optimizer::Kind::kAdamW) {
    set("beta1", FormatDouble(training.optimizer.beta1));
    set("beta2", FormatDouble(training.optimizer.beta2));
  }
  for (const ProgramMetric& metric : emission.program.metrics) {
    writer.Line(absl::StrCat("settings.metrics.push_back(", StringLiteral(metric.name), ");"));
  }
  writer.Open("return Train(argc, argv, settings, [](const Context& context) -> std::unique_ptr<TrainingProgram> {");
  if (training.precision == Precision::kTf32 && HasProducts(emission.program)) {
    writer.Line("SetMatMulPrecision(Precision::kTf32);");
  }
  writer.Line(absl::StrCat("return std::make_unique<", type, ">(context);"));
  writer.Close("});");
  writer.Close("}");
  return absl::OkStatus();
}

}  // namespace cleave
