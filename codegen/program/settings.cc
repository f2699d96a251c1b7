#include "codegen/program/settings.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "codegen/cpp/cpp.h"
#include "codegen/program/facts.h"
#include "codegen/source/formulas.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/parameter_file.h"
#include "ir/graph/roles.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/graph/training/samples.h"

namespace cleave::codegen {
namespace {

constexpr char kSampleMask[] = "sample_mask";  // No field of the data (runtime/data).

// A number without a fraction where it has none: "20000", "0.5".
cpp::Expr NumberExpr(double number) {
  constexpr double kMost = 1e15;
  if (number == std::trunc(number) && std::abs(number) < kMost) return static_cast<int64_t>(number);
  return cpp::Double(number);
}

cpp::Expr DoubleList(const std::vector<double>& numbers) {
  std::vector<cpp::Expr> list;
  for (const double number : numbers) list.push_back(NumberExpr(number));
  return cpp::Braces(std::move(list));
}

cpp::Expr StringList(const std::vector<std::string>& texts) {
  std::vector<cpp::Expr> list;
  for (const std::string& text : texts) list.push_back(cpp::String(text));
  return cpp::Braces(std::move(list));
}

double NumberOr0(const ir::DataSource& data, const char* name) {
  const auto found = data.numbers.find(name);
  return found == data.numbers.end() ? 0 : found->second;
}

// How images become values, as an ImageReading.
cpp::Expr ImageReadingOf(const ir::DataSource& data) {
  std::vector<cpp::Field> fields;
  if (NumberOr0(data, "resize") > 0) fields.push_back({"shorter_side", NumberExpr(NumberOr0(data, "resize"))});
  if (NumberOr0(data, "crop") == 1) fields.push_back({"crop", cpp::Name("ImageCrop::kRandom")});
  if (NumberOr0(data, "crop") == 2) fields.push_back({"crop", cpp::Name("ImageCrop::kScaled")});
  if (NumberOr0(data, "flip") == 1) fields.push_back({"flip", cpp::Bool(true)});
  for (const auto& [name, field] : {std::pair("mean", "mean"), std::pair("std", "deviation")}) {
    const auto list = data.lists.find(name);
    if (list != data.lists.end()) fields.push_back({field, DoubleList(list->second)});
  }
  return cpp::Fields(std::move(fields));
}

// The call that makes the DataSpec.
absl::StatusOr<cpp::Expr> DataExpr(const ir::DataSource& data, const ir::Program& program) {
  if (data.kind == "mnist") return cpp::Call("Mnist", {cpp::String(data.path)});
  std::vector<cpp::Expr> pairs;
  for (const auto& [name, path] : data.files) pairs.push_back(cpp::Braces({cpp::String(name), cpp::String(path)}));
  const cpp::Expr files = cpp::Braces(std::move(pairs));
  const cpp::Expr skipped = NumberExpr(NumberOr0(data, "skip_bad"));
  if (data.kind == "npy") return cpp::Call("Npy", {files});
  if (data.kind == "images") return cpp::Call("ImageFolders", {files, ImageReadingOf(data), skipped});
  if (data.kind == "mix") {
    std::vector<cpp::Expr> parts;
    for (const ir::DataSource& part : data.parts) {
      CLEAVE_ASSIGN_OR_RETURN(cpp::Expr expr, DataExpr(part, program));
      parts.push_back(std::move(expr));
    }
    return cpp::Call("Mix", {cpp::Braces(std::move(parts)), DoubleList(data.lists.at("weights"))});
  }
  if (!data.columns.empty()) {
    std::vector<cpp::Expr> inputs;
    for (const auto& [input, columns] : data.columns) {
      inputs.push_back(cpp::Braces({cpp::String(input), StringList(columns)}));
    }
    const cpp::Expr columns = cpp::Braces(std::move(inputs));
    if (data.kind == "safetensors") return cpp::Call("TensorFiles", {files, columns});
    return cpp::Call("Csv", {files, columns, skipped});
  }
  if (data.kind == "tokens" && !data.files.empty()) {
    return cpp::Call("TokenFiles", {files, NumberExpr(NumberOr0(data, "bits"))});
  }
  if (data.kind == "tokens") return cpp::Call("Tokens", {cpp::String(data.path)});
  const std::optional<ir::MadeSamples> made = ir::MadeSamplesOf(data);
  if (!made.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("no data source `", data.kind, "` for generated programs"));
  }
  if (data.kind == "custom") {
    std::set<std::string> inputs;
    for (const ir::Step& step : program.steps) {
      const ir::Compute* compute = ir::ComputeOf(step);
      if (compute == nullptr || !ir::IsSamples(compute->kind, compute->attributes)) continue;
      const std::string& input = compute->attributes.Get(ir::attribute::kData);
      if (input != kSampleMask) inputs.insert(input);
    }
    std::vector<cpp::Expr> functions;
    for (const std::string& input : inputs) {
      functions.push_back(cpp::Braces({cpp::String(input), cpp::Name(absl::StrCat("::", input))}));
    }
    return cpp::Call("CustomSamples", {cpp::Braces(std::move(functions)), made->train, made->test});
  }
  const absl::string_view function = data.kind == "digits" ? "Digits" : "Synthetic";
  if (data.numbers.empty()) return cpp::Call(function, {});
  return cpp::Call(function, {made->train, made->test});
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

namespace {

// `formulas`: those of the program's step scalars.
std::vector<NamedNumber> NumbersIn(const ir::Training& training, const std::vector<std::string>& formulas) {
  std::map<std::string, double> values;
  if (training.mode != ir::Mode::kTrain) return {};
  const auto add = [&](const std::string& formula) {
    for (const ir::Scalar& node : ir::NodesOf(*ir::ParseScalar(formula))) {
      if (node.Is(ir::Primitive::kNumber) && !node.name().empty()) values[node.name()] = node.number();
    }
  };
  add(training.learning_rate);
  for (const ir::NumberDemand& demand : training.demands) add(demand.condition);
  for (const std::string& formula : formulas) add(formula);
  const std::set<std::string> fixed = FixedNumbers(training);
  Identifiers identifiers;
  std::vector<NamedNumber> numbers;
  for (const auto& [name, value] : values) {
    numbers.push_back(
        {.name = name, .variable = fixed.count(name) > 0 ? "" : identifiers.Unique(name), .value = value});
  }
  return numbers;
}

}  // namespace

std::vector<NamedNumber> NamedNumbersOf(const ir::Training& training, const ir::Program& program) {
  std::vector<std::string> formulas;
  for (const ir::Step& step : program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr || !compute->inputs.empty() || !compute->attributes.Has(ir::attribute::kFormula)) continue;
    formulas.push_back(compute->attributes.Get(ir::attribute::kFormula));
  }
  return NumbersIn(training, formulas);
}

std::vector<NamedNumber> NamedNumbersOf(const ir::Training& training, const ir::Graph& graph) {
  std::vector<std::string> formulas;
  for (const ir::Op& op : graph.ops) {
    if (!op.inputs.empty() || !op.attributes.Has(ir::attribute::kFormula)) continue;
    formulas.push_back(op.attributes.Get(ir::attribute::kFormula));
  }
  return NumbersIn(training, formulas);
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

cpp::Expr StepScalarExpr(const ir::Attributes& attributes, const Emission& emission) {
  const std::string& formula = attributes.Get(ir::attribute::kFormula);
  const cpp::Expr step = cpp::Cast(cpp::Name("double"), cpp::Name("scalars").Member("step"));
  const cpp::Expr value = formula == emission.training.learning_rate
                              ? cpp::Name("scalars").Member("learning_rate")
                              : FormulaExpr(*ir::ParseScalar(formula), {.step = step, .numbers = emission.numbers});
  return cpp::Cast(cpp::Name("float"), value);
}

cpp::Code StepScalarStatements(const ir::Attributes& attributes, const Emission& emission) {
  const ir::Scalar formula = *ir::ParseScalar(attributes.Get(ir::attribute::kFormula));
  return FormulaStatements(formula, {.step = cpp::Name("step"), .numbers = emission.numbers});
}

namespace {

cpp::Expr Setting(absl::string_view field) { return cpp::Name("settings").Member(field); }

// The learning rate as a function of the step.
void EmitLearningRate(const std::string& formula, const std::map<std::string, std::string>& numbers, cpp::Code& code) {
  cpp::Code statements = FormulaStatements(*ir::ParseScalar(formula), {.step = cpp::Name("step"), .numbers = numbers});
  const bool reads_step = ir::ReadsStep({{ir::attribute::kFormula, formula}});
  const absl::string_view head = reads_step ? "[](double step) -> double" : "[](double) -> double";
  code.Assign(Setting("learning_rate"), cpp::Lambda(head, std::move(statements)));
}

// The numbers that flags change, and what must hold of them.
void EmitNumbers(const MainText& main, cpp::Code& code) {
  const std::vector<NamedNumber> numbers = NamedNumbersOf(main.training, main.program);
  const std::map<std::string, std::string> variables = VariablesOf(numbers);
  EmitLearningRate(main.training.learning_rate, variables, code);
  for (const NamedNumber& number : numbers) {
    const bool is_fixed = number.variable.empty();
    const cpp::Expr value = is_fixed ? cpp::Double(number.value) : cpp::Prefix("&", cpp::Name(number.variable));
    code.Do(
        Setting(is_fixed ? "fixed" : "numbers").Call("push_back", {cpp::Braces({cpp::String(number.name), value})}));
  }
  for (const ir::NumberDemand& demand : main.training.demands) {
    const ir::Scalar condition = *ir::ParseScalar(demand.condition);
    if (!ReadsVariable(condition, variables)) continue;
    const cpp::Expr holds = cpp::Lambda("[]", FormulaCondition(condition, {.numbers = variables}));
    code.Do(cpp::Call("settings.Demand", {holds, cpp::String(demand.otherwise)}));
  }
}

using SetField = std::function<void(absl::string_view field, const cpp::Expr& value)>;

// What only a program that trains needs.
void EmitTrainingSettings(const ir::Training& training, const SetField& set) {
  const auto set_if_positive = [&](absl::string_view field, int64_t value) {
    if (value > 0) set(field, value);
  };
  set("epochs", training.epochs);
  set_if_positive("steps", training.steps);
  set("log_every", training.log_every);
  if (training.log == ir::LogFormat::kMindSpore) set("log", cpp::Name("LogFormat::kMindSpore"));
  set_if_positive("checkpoint_every", training.checkpoint_every);
  if (training.keep_checkpoints != ir::Training().keep_checkpoints) set("keep_checkpoints", training.keep_checkpoints);
  set_if_positive("evaluate_every", training.evaluate_every);
  if (!training.best.measure.empty()) {
    std::vector<cpp::Field> best = {{"measure", cpp::String(training.best.measure)}};
    if (training.best.is_least) best.push_back({"is_least", cpp::Bool(true)});
    set("best", cpp::Fields(std::move(best)));
  }
  set_if_positive("patience", training.patience);
  set("schedule", cpp::String(training.schedule));
}

// The tokens of a sample of texts; 0 of other data.
int64_t TokensPerSample(const ir::Graph& graph) {
  for (const ir::Op& op : graph.ops) {
    const bool is_tokens = ir::IsSamples(op.kind, op.attributes) && op.type.dtype == ir::DType::kI32 &&
                           op.attributes.Get(ir::attribute::kData) == "tokens" && !op.type.shape.empty();
    if (is_tokens && op.type.shape.front() > 0) return op.type.elements() / op.type.shape.front();
  }
  return 0;
}

// What only a program that generates needs.
void EmitGenerationSettings(const ir::Training& training, const SetField& set) {
  // Texts that are mixed have the same tokens.
  const ir::DataSource& data = training.data.parts.empty() ? training.data : training.data.parts.front();
  set("generation.run", cpp::Name("Generate"));
  set("generation.places", training.places);
  if (!training.tokenizer.empty()) {
    set("generation.open_tokenizer",
        cpp::Lambda("[](const std::string& path, int64_t)", cpp::Call("OpenTokenizerJson", {cpp::Name("path")})));
    set("generation.open_chat", cpp::Name("OpenTemplateChat"));
    set("generation.tokenizer", cpp::String(training.tokenizer));
  } else if (data.kind == "tokens" && data.files.empty()) {
    set("generation.open_tokenizer", cpp::Name("OpenByteTokenizer"));
    set("generation.tokenizer", cpp::String(data.path));
  } else {
    set("generation.open_tokenizer", cpp::Name("OpenNumberTokenizer"));
  }
}

// Where parameters come from that a file gives.
void EmitParameterFiles(const MainText& main, cpp::Code& code) {
  for (const ir::Step& step : main.program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr || compute->kind != ir::OpKind::kParameter) continue;
    if (compute->attributes.Get(ir::attribute::kInit) != "npy") continue;
    const std::filesystem::path path =
        std::filesystem::path(main.training.folder) / ir::ParameterFileOf(step.name, compute->attributes);
    const cpp::Expr file =
        cpp::Call("FromNpy", {cpp::String(step.name), cpp::String(path.lexically_normal().string())});
    code.Do(Setting("parameter_files").Call("push_back", {file}));
  }
}

void EmitMetrics(const MainText& main, cpp::Code& code) {
  for (const ir::ProgramMetric& metric : main.program.metrics) {
    const ir::Op& op = main.graph.op(main.program.value(metric.value).origin);
    const cpp::Expr name = cpp::String(metric.name);
    if (!op.type.shape.empty()) {
      code.Do(Setting("tables").Call("push_back", {cpp::Braces({name, cpp::Numbers(op.type.shape)})}));
      continue;
    }
    const char* const list = op.kind == ir::OpKind::kParameter ? "of_training" : "metrics";  // A state as it is.
    const bool is_of_totals = !ir::MetricSourcesOf(main.graph, op.id).totals.empty();
    const cpp::Expr entry = is_of_totals ? cpp::Braces({name, cpp::Name("Average::kOfTotals")}) : name;
    code.Do(Setting(list).Call("push_back", {entry}));
  }
}

// The last of the parts from `first` on that share a struct and whose rows follow one another.
int LastOfRun(const std::map<int, ProgramType>& types, int first) {
  const ProgramType& begin = types.at(first);
  int last = first;
  while (types.count(last + 1) > 0) {
    const ProgramType& next = types.at(last + 1);
    const bool follows = begin.row.has_value() && next.name == begin.name && next.row == *begin.row + last + 1 - first;
    if (!follows) break;
    ++last;
  }
  return last;
}

// The function that makes the program of a rank.
cpp::Code MakeProgram(const MainText& main) {
  cpp::Code code;
  if (main.training.precision == ir::Precision::kTf32 && HasProducts(main.program)) {
    code.Do(cpp::Call("SetMatMulPrecision", {cpp::Name("Precision::kTf32")}));
  }
  const cpp::Expr own = cpp::Name("stage");
  if (main.types.size() > 1) {
    const cpp::Expr coordinates = cpp::Name("context").Member("coordinates");
    code.Declare({cpp::Name("const int64_t"), "stage"}, coordinates.At(main.program.pipeline->axis.value()));
  }
  for (auto type = main.types.begin(); type != main.types.end();) {
    const int first = type->first;
    const ProgramType& made_of = type->second;
    const int last = LastOfRun(main.types, first);
    std::vector<cpp::Expr> arguments = {cpp::Name("context")};
    if (made_of.row.has_value()) {
      arguments.push_back(first == last ? cpp::Expr(*made_of.row) : cpp::Shifted(own, *made_of.row - first));
    }
    const cpp::Expr made =
        cpp::Call(cpp::Template("std::make_unique", {cpp::Name(made_of.name)}), std::move(arguments));
    type = main.types.upper_bound(last);
    if (type == main.types.end()) {
      code.Return(made);
    } else {
      code.OnLine(cpp::If{cpp::Infix(own, first == last ? "==" : "<=", last)}).Return(made);
    }
  }
  return code;
}

}  // namespace

absl::Status EmitMain(const MainText& main, cpp::Code& file) {
  const ir::Training& training = main.training;
  CLEAVE_ASSIGN_OR_RETURN(const cpp::Expr data, DataExpr(training.data, main.program));
  cpp::Code& code = file.Open(cpp::Function{
      .result = cpp::Name("int"),
      .name = "main",
      .parameters = {{cpp::Name("int"), "argc"}, {cpp::Pointer(cpp::Pointer(cpp::Name("char"))), "argv"}}});
  const auto set = [&](absl::string_view field, const cpp::Expr& value) { code.Assign(Setting(field), value); };
  code.Member({cpp::Name("TrainingSettings"), "settings"});
  set("model_name", cpp::String(main.program.model));
  set("model_file", cpp::String(PlaceIn(main.program, 0)));
  const ir::Mesh mesh = ir::RankMesh(main.program);
  for (const ir::MeshAxis& axis : mesh.axes()) {
    code.Do(Setting("mesh").Call("push_back", {cpp::Braces({cpp::String(axis.name), axis.size})}));
  }
  if (main.program.pipeline.has_value()) {
    set("stage_axis", main.program.pipeline->axis.value());
    if (HasGlances(main.program)) set("join_looks", cpp::Name("JoinLooks"));
  }
  if (main.rank.has_value()) set("only_rank", *main.rank);
  set("data", data);
  if (!training.shuffle) set("data.shuffle", cpp::Bool(false));
  // A program that predicts does so for all samples of data that has no test part.
  if (training.validation > 0 && training.mode != ir::Mode::kPredict) {
    set("data.validation", cpp::Double(training.validation));
  }
  EmitParameterFiles(main, code);
  if (!training.params.empty()) set("params", cpp::String(training.params));
  if (training.params_are_partial) set("params_are_partial", cpp::Name("true"));
  if (!training.adapters.empty()) set("adapters", cpp::String(training.adapters));
  set("seed", training.seed);
  switch (training.mode) {
    case ir::Mode::kTrain:
      EmitTrainingSettings(training, set);
      if (const int64_t tokens = TokensPerSample(main.graph); tokens > 0) set("tokens_per_sample", tokens);
      if (main.at_peak > Seconds(0)) set("seconds_at_peak", cpp::Double(main.at_peak.value()));
      EmitNumbers(main, code);
      break;
    case ir::Mode::kEvaluate:
      set("mode", cpp::Name("Mode::kEvaluate"));
      break;
    case ir::Mode::kPredict:
      set("mode", cpp::Name("Mode::kPredict"));
      break;
    case ir::Mode::kGenerate:
      set("mode", cpp::Name("Mode::kGenerate"));
      EmitGenerationSettings(training, set);
      break;
  }
  EmitMetrics(main, code);
  code.Return(cpp::Call(
      "Train", {cpp::Name("argc"), cpp::Name("argv"), cpp::Name("settings"),
                cpp::Lambda("[](const Context& context) -> std::unique_ptr<TrainingProgram>", MakeProgram(main))}));
  return absl::OkStatus();
}

}  // namespace cleave::codegen
