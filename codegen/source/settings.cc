#include "codegen/source/settings.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"
#include "codegen/emit/identifiers.h"
#include "codegen/source/formula_text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/parameter_file.h"
#include "ir/graph/roles.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/graph/training/samples.h"

namespace cleave::codegen {
namespace {

constexpr char kSampleMask[] = "sample_mask";  // No field of the data (runtime/data).

// How images become values, as an ImageReading.
std::string ImageReadingText(const ir::DataSource& data) {
  std::vector<std::string> fields;
  const auto number = [&](const char* name) {
    const auto found = data.numbers.find(name);
    return found == data.numbers.end() ? 0 : found->second;
  };
  if (number("resize") > 0) fields.push_back(absl::StrCat(".shorter_side = ", number("resize")));
  if (number("crop") == 1) fields.push_back(".crop = ImageCrop::kRandom");
  if (number("crop") == 2) fields.push_back(".crop = ImageCrop::kScaled");
  if (number("flip") == 1) fields.push_back(".flip = true");
  for (const auto& [name, field] : {std::pair("mean", ".mean"), std::pair("std", ".deviation")}) {
    const auto list = data.lists.find(name);
    if (list != data.lists.end()) fields.push_back(absl::StrCat(field, " = {", absl::StrJoin(list->second, ", "), "}"));
  }
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

// The call that makes the DataSpec.
absl::StatusOr<std::string> DataText(const ir::DataSource& data, const ir::Program& program) {
  if (data.kind == "mnist") return absl::StrCat("Mnist(", StringLiteral(data.path), ")");
  const std::string files = absl::StrCat("{",
                                         absl::StrJoin(data.files, ", ",
                                                       [](std::string* out, const auto& file) {
                                                         absl::StrAppend(out, "{", StringLiteral(file.first), ", ",
                                                                         StringLiteral(file.second), "}");
                                                       }),
                                         "}");
  if (data.kind == "npy") return absl::StrCat("Npy(", files, ")");
  if (data.kind == "images") {
    const auto skipped = data.numbers.find("skip_bad");
    return absl::StrCat("ImageFolders(", files, ", ", ImageReadingText(data), ", ",
                        skipped == data.numbers.end() ? 0 : skipped->second, ")");
  }
  if (data.kind == "mix") {
    std::vector<std::string> parts;
    for (const ir::DataSource& part : data.parts) {
      CLEAVE_ASSIGN_OR_RETURN(std::string text, DataText(part, program));
      parts.push_back(std::move(text));
    }
    return absl::StrCat("Mix({", absl::StrJoin(parts, ", "), "}, {", absl::StrJoin(data.lists.at("weights"), ", "),
                        "})");
  }
  if (!data.columns.empty()) {
    const auto skipped = data.numbers.find("skip_bad");
    const auto names = [](const std::vector<std::string>& columns) {
      return absl::StrJoin(
          columns, ", ", [](std::string* out, const std::string& name) { absl::StrAppend(out, StringLiteral(name)); });
    };
    const std::string columns = absl::StrJoin(data.columns, ", ", [&](std::string* out, const auto& input) {
      absl::StrAppend(out, "{", StringLiteral(input.first), ", {", names(input.second), "}}");
    });
    if (data.kind == "safetensors") return absl::StrCat("TensorFiles(", files, ", {", columns, "})");
    return absl::StrCat("Csv(", files, ", {", columns, "}, ", skipped == data.numbers.end() ? 0 : skipped->second, ")");
  }
  if (data.kind == "tokens" && !data.files.empty()) {
    const auto bits = data.numbers.find("bits");
    return absl::StrCat("TokenFiles(", files, ", ", bits == data.numbers.end() ? 0 : bits->second, ")");
  }
  if (data.kind == "tokens") return absl::StrCat("Tokens(", StringLiteral(data.path), ")");
  const std::optional<ir::MadeSamples> made = ir::MadeSamplesOf(data);
  if (!made.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("no data source `", data.kind, "` for generated programs"));
  }
  if (data.kind == "custom") {
    std::set<std::string> inputs;
    for (const ir::Step& step : program.steps) {
      const ir::Compute* compute = ir::ComputeOf(step);
      if (compute == nullptr || compute->kind != ir::OpKind::kInput) continue;
      const std::string& input = compute->attributes.Get(ir::attribute::kData);
      if (input != kSampleMask) inputs.insert(input);
    }
    const std::string functions = absl::StrJoin(inputs, ", ", [](std::string* out, const std::string& input) {
      absl::StrAppend(out, "{", StringLiteral(input), ", ::", input, "}");
    });
    return absl::StrCat("CustomSamples({", functions, "}, ", made->train, ", ", made->test, ")");
  }
  const absl::string_view function = data.kind == "digits" ? "Digits" : "Synthetic";
  if (data.numbers.empty()) return absl::StrCat(function, "()");
  return absl::StrCat(function, "(", made->train, ", ", made->test, ")");
}

bool HasProducts(const ir::Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const ir::Step& step) {
    const ir::Compute* compute = ir::ComputeOf(step);
    return compute != nullptr && ir::DefinitionOf(compute->kind).op_class == ir::OpClass::kProduct;
  });
}

// The numbers that must be what they are: `weight_decay` where it is 0.
std::set<std::string> FixedNumbers(const ir::Training& training) {
  std::set<std::string> fixed;
  for (const ir::NumberDemand& demand : training.demands) {
    const ir::Scalar condition = *ir::ParseScalar(demand.condition);
    if (!condition.Is(ir::Primitive::kEqual)) continue;
    const ir::Scalar& number = condition.operands()[0];
    const ir::Scalar& value = condition.operands()[1];
    if (number.Is(ir::Primitive::kNumber) && value.Is(ir::Primitive::kNumber)) fixed.insert(number.name());
  }
  return fixed;
}

// Whether a condition depends on a number that flags change.
bool ReadsVariable(const ir::Scalar& condition, const std::map<std::string, std::string>& variables) {
  const std::vector<ir::Scalar> nodes = ir::NodesOf(condition);
  return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Scalar& node) {
    return node.Is(ir::Primitive::kNumber) && variables.count(node.name()) > 0;
  });
}

}  // namespace

std::vector<NamedNumber> NamedNumbersOf(const ir::Training& training, const ir::Program& program) {
  std::map<std::string, double> values;
  if (training.mode != ir::Mode::kTrain) return {};
  const auto add = [&](const std::string& formula) {
    for (const ir::Scalar& node : ir::NodesOf(*ir::ParseScalar(formula))) {
      if (node.Is(ir::Primitive::kNumber) && !node.name().empty()) values[node.name()] = node.number();
    }
  };
  add(training.learning_rate);
  for (const ir::NumberDemand& demand : training.demands) add(demand.condition);
  for (const ir::Step& step : program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute != nullptr && compute->inputs.empty() && compute->attributes.Has(ir::attribute::kFormula)) {
      add(compute->attributes.Get(ir::attribute::kFormula));
    }
  }
  const std::set<std::string> fixed = FixedNumbers(training);
  Identifiers identifiers;
  std::vector<NamedNumber> numbers;
  for (const auto& [name, value] : values) {
    numbers.push_back(
        {.name = name, .variable = fixed.count(name) > 0 ? "" : identifiers.Unique(name), .value = value});
  }
  return numbers;
}

std::map<std::string, std::string> VariablesOf(const std::vector<NamedNumber>& numbers) {
  std::map<std::string, std::string> variables;
  for (const NamedNumber& number : numbers) {
    if (!number.variable.empty()) variables[number.name] = number.variable;
  }
  return variables;
}

std::string CustomHeaderOf(const ir::DataSource& data) {
  return absl::StrCat("custom/", std::filesystem::path(data.path).filename().string());
}

std::string StepScalarText(const ir::Attributes& attributes, const Emission& emission) {
  const std::string& formula = attributes.Get(ir::attribute::kFormula);
  const std::string value = formula == emission.training.learning_rate
                                ? "scalars.learning_rate"
                                : FormulaText(*ir::ParseScalar(formula), {.step = "static_cast<double>(scalars.step)",
                                                                          .numbers = emission.numbers});
  return absl::StrCat("static_cast<float>(", value, ")");
}

std::vector<std::string> StepScalarStatements(const ir::Attributes& attributes, const Emission& emission) {
  const ir::Scalar formula = *ir::ParseScalar(attributes.Get(ir::attribute::kFormula));
  return FormulaStatements(formula, {.step = "step", .numbers = emission.numbers});
}

namespace {

// The learning rate as a function of the step.
void EmitLearningRate(const std::string& formula, const std::map<std::string, std::string>& numbers,
                      SourceWriter& writer) {
  const std::vector<std::string> statements =
      FormulaStatements(*ir::ParseScalar(formula), {.step = "step", .numbers = numbers});
  const bool reads_step = ir::ReadsStep({{ir::attribute::kFormula, formula}});
  const std::string head =
      absl::StrCat("settings.learning_rate = [](double", reads_step ? " step" : "", ") -> double {");
  if (const std::string line = absl::StrCat(head, " ", statements[0], " };");
      statements.size() == 1 && line.size() + 2 <= SourceWriter::kColumns) {
    writer.Line(line);
    return;
  }
  writer.Open(head);
  for (const std::string& statement : statements) writer.Line(statement);
  writer.Close("};");
}

// The numbers that flags change, and what must hold of them.
void EmitNumbers(const MainText& main, SourceWriter& writer) {
  const std::vector<NamedNumber> numbers = NamedNumbersOf(main.training, main.program);
  const std::map<std::string, std::string> variables = VariablesOf(numbers);
  EmitLearningRate(main.training.learning_rate, variables, writer);
  for (const NamedNumber& number : numbers) {
    const bool is_fixed = number.variable.empty();
    writer.Line(absl::StrCat("settings.", is_fixed ? "fixed" : "numbers", ".push_back({", StringLiteral(number.name),
                             ", ", is_fixed ? FormatDouble(number.value) : absl::StrCat("&", number.variable), "});"));
  }
  for (const ir::NumberDemand& demand : main.training.demands) {
    const ir::Scalar condition = *ir::ParseScalar(demand.condition);
    if (!ReadsVariable(condition, variables)) continue;
    writer.Call("settings.Demand(",
                {absl::StrCat("[] { return ", ConditionText(condition, {.numbers = variables}), "; }"),
                 StringLiteral(demand.otherwise)},
                ");");
  }
}

// What only a program that trains needs.
void EmitTrainingSettings(const ir::Training& training,
                          const std::function<void(absl::string_view field, const std::string& value)>& set) {
  set("epochs", absl::StrCat(training.epochs));
  if (training.steps > 0) set("steps", absl::StrCat(training.steps));
  set("log_every", absl::StrCat(training.log_every));
  if (training.log == ir::LogFormat::kMindSpore) set("log", "LogFormat::kMindSpore");
  if (training.checkpoint_every > 0) set("checkpoint_every", absl::StrCat(training.checkpoint_every));
  if (training.keep_checkpoints != ir::Training().keep_checkpoints) {
    set("keep_checkpoints", absl::StrCat(training.keep_checkpoints));
  }
  if (training.evaluate_every > 0) set("evaluate_every", absl::StrCat(training.evaluate_every));
  if (!training.best.measure.empty()) {
    set("best", absl::StrCat("{.measure = ", StringLiteral(training.best.measure),
                             training.best.is_least ? ", .is_least = true" : "", "}"));
  }
  if (training.patience > 0) set("patience", absl::StrCat(training.patience));
  set("schedule", StringLiteral(training.schedule));
}

// What only a program that generates needs.
void EmitGenerationSettings(const ir::Training& training,
                            const std::function<void(absl::string_view field, const std::string& value)>& set) {
  // Texts that are mixed have the same tokens.
  const ir::DataSource& data = training.data.parts.empty() ? training.data : training.data.parts.front();
  set("generation.run", "Generate");
  set("generation.places", absl::StrCat(training.places));
  if (!training.tokenizer.empty()) {
    set("generation.open_tokenizer", "[](const std::string& path, int64_t) { return OpenTokenizerJson(path); }");
    set("generation.tokenizer", StringLiteral(training.tokenizer));
  } else if (data.kind == "tokens" && data.files.empty()) {
    set("generation.open_tokenizer", "OpenByteTokenizer");
    set("generation.tokenizer", StringLiteral(data.path));
  } else {
    set("generation.open_tokenizer", "OpenNumberTokenizer");
  }
}

}  // namespace

absl::Status EmitMain(const MainText& main, SourceWriter& writer) {
  const ir::Training& training = main.training;
  CLEAVE_ASSIGN_OR_RETURN(const std::string data, DataText(training.data, main.program));
  const auto set = [&](absl::string_view field, const std::string& value) {
    writer.Assign(absl::StrCat("settings.", field), value);
  };
  writer.Open("int main(int argc, char** argv) {");
  writer.Line("TrainingSettings settings;");
  set("model_name", StringLiteral(main.program.model));
  set("model_file", StringLiteral(PlaceIn(main.program, 0)));
  const ir::Mesh mesh = ir::RankMesh(main.program);
  for (const ir::MeshAxis& axis : mesh.axes()) {
    writer.Line(absl::StrCat("settings.mesh.push_back({", StringLiteral(axis.name), ", ", axis.size, "});"));
  }
  if (main.program.pipeline.has_value()) {
    set("stage_axis", absl::StrCat(main.program.pipeline->axis.value()));
    const auto looks = [](const ir::Step& step) { return std::holds_alternative<ir::Glance>(step.action); };
    if (std::any_of(main.program.steps.begin(), main.program.steps.end(), looks)) set("join_looks", "JoinLooks");
  }
  if (main.rank.has_value()) set("only_rank", absl::StrCat(*main.rank));
  set("data", data);
  if (!training.shuffle) set("data.shuffle", "false");
  // A program that predicts does so for all samples of data that has no test part.
  if (training.validation > 0 && training.mode != ir::Mode::kPredict) {
    set("data.validation", FormatDouble(training.validation));
  }
  for (const ir::Step& step : main.program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr || compute->kind != ir::OpKind::kParameter) continue;
    if (compute->attributes.Get(ir::attribute::kInit) != "npy") continue;
    const std::filesystem::path path =
        std::filesystem::path(training.folder) / ir::ParameterFileOf(step.name, compute->attributes);
    writer.Call("settings.parameter_files.push_back(",
                {absl::StrCat("FromNpy(", StringLiteral(step.name), ", ",
                              StringLiteral(path.lexically_normal().string()), ")")},
                ");");
  }
  if (!training.params.empty()) set("params", StringLiteral(training.params));
  set("seed", absl::StrCat(training.seed));
  switch (training.mode) {
    case ir::Mode::kTrain:
      EmitTrainingSettings(training, set);
      EmitNumbers(main, writer);
      break;
    case ir::Mode::kEvaluate:
      set("mode", "Mode::kEvaluate");
      break;
    case ir::Mode::kPredict:
      set("mode", "Mode::kPredict");
      break;
    case ir::Mode::kGenerate:
      set("mode", "Mode::kGenerate");
      EmitGenerationSettings(training, set);
      break;
  }
  for (const ir::ProgramMetric& metric : main.program.metrics) {
    const ir::Op& op = main.graph.op(main.program.value(metric.value).origin);
    if (!op.type.shape.empty()) {
      writer.Line(absl::StrCat("settings.tables.push_back({", StringLiteral(metric.name), ", {",
                               absl::StrJoin(op.type.shape, ", "), "}});"));
      continue;
    }
    const char* const list = op.kind == ir::OpKind::kParameter ? "of_training" : "metrics";  // A state as it is.
    const std::string name = StringLiteral(metric.name);
    const bool is_of_totals = !ir::MetricSourcesOf(main.graph, op.id).totals.empty();
    writer.Line(absl::StrCat("settings.", list, ".push_back(",
                             is_of_totals ? absl::StrCat("{", name, ", Average::kOfTotals}") : name, ");"));
  }
  writer.Open("return Train(argc, argv, settings, [](const Context& context) -> std::unique_ptr<TrainingProgram> {");
  if (training.precision == ir::Precision::kTf32 && HasProducts(main.program)) {
    writer.Line("SetMatMulPrecision(Precision::kTf32);");
  }
  for (const auto& [part, type] : main.types) {
    const bool is_last = part == main.types.rbegin()->first;
    const std::string condition =
        is_last ? ""
                : absl::StrCat("if (context.coordinates[", main.program.pipeline->axis.value(), "] == ", part, ") ");
    writer.Line(absl::StrCat(condition, "return std::make_unique<", type, ">(context);"));
  }
  writer.Close("});");
  writer.Close("}");
  return absl::OkStatus();
}

}  // namespace cleave::codegen
