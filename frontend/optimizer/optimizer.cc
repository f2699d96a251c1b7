#include "frontend/optimizer/optimizer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/step_formula.h"
#include "frontend/optimizer/share.h"
#include "frontend/optimizer/training_losses.h"

namespace cleave::frontend {
namespace {

constexpr char kRate[] = "lr";
constexpr char kFrozen[] = "frozen";    // In a group: no optimizer.
constexpr char kUsual[] = "optimizer";  // In a group: what the setting of this name says.
constexpr size_t kTensors = 2;  // The arguments of an optimizer that no setting gives: the parameter and its gradient.
constexpr int64_t kLastStep = 1'000'000'000;  // Up to which powers of ten a learning rate is looked at.
constexpr char kSignature[] = "fn NAME(parameter: f32[..n], gradient: f32[..n], lr: float, …) -> f32[..n]";

bool IsTensor(const dsl::syntax::Type& type) { return type.dimensions.has_value() && type.element.text == "f32"; }

// The place of `lr` among the parameters of a function that can be an optimizer; nullopt for any other.
std::optional<size_t> PlaceOfRate(const dsl::syntax::Function& function) {
  const std::vector<dsl::syntax::Parameter>& parameters = function.parameters;
  if (parameters.size() < 3 || !IsTensor(parameters[0].type) || !IsTensor(parameters[1].type)) return std::nullopt;
  if (function.results.size() != 1 || !IsTensor(function.results[0])) return std::nullopt;
  for (size_t i = 2; i < parameters.size(); ++i) {
    if (parameters[i].name.text == kRate && parameters[i].type.element.text == "float") return i;
  }
  return std::nullopt;
}

dsl::syntax::Expression DefaultOptimizer() {
  dsl::syntax::Expression name{.span = {}, .kind = dsl::syntax::Name{"sgd"}};
  return {.span = {}, .kind = dsl::syntax::Call{.callee = std::move(name), .arguments = {}}};
}

}  // namespace

const Function* Optimizer::FunctionNamed(const std::string& name) const {
  const Callee callee = functions_.Find(name, nullptr);
  const auto* function = std::get_if<const Function*>(&callee);
  return function == nullptr || (*function)->broken ? nullptr : *function;
}

void Optimizer::Read(const SettingTexts& settings, ir::Training& training) {
  const auto find = [&](const std::string& name) -> const SettingText* {
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [&](const SettingText& text) { return text.setting.name.text == name; });
    return found == settings.end() ? nullptr : &*found;
  };
  if (const SettingText* clip = find("clip")) ReadClip(*clip);
  const SettingText* given = find("optimizer");
  const std::string context = given == nullptr ? "" : given->context;
  reporter_.SetContext(context);
  usual_ = ReadRecipe(given == nullptr ? DefaultOptimizer() : given->setting.value);
  usual_->context = context;
  reporter_.SetContext("");
  if (usual_->function == nullptr) return;
  training.optimizer = usual_->function->name();
  training.learning_rate = ir::ScalarText(usual_->rate.formula);
  training.schedule = usual_->rate_text;
  if (const SettingText* groups = find("groups")) ReadGroups(*groups, training);
}

void Optimizer::ReadClip(const SettingText& setting) {
  const dsl::syntax::Expression& value = setting.setting.value;
  reporter_.SetContext(setting.context);
  clip_ = evaluator_.EvaluateNumber(value, "`clip`");
  if (clip_.has_value() && *clip_ <= 0) {
    reporter_.Report(
        Error(Code::kE0508, "`clip` must be positive: it is the longest that all gradients together may be")
            .At(value.span, absl::StrCat("this is ", FormatDouble(*clip_))));
  }
  reporter_.SetContext("");
}

void Optimizer::ReadGroups(const SettingText& setting, ir::Training& training) {
  const dsl::syntax::Expression& value = setting.setting.value;
  reporter_.SetContext(setting.context);
  const auto* map = std::get_if<dsl::syntax::Map>(&value.kind);
  if (map == nullptr) {
    reporter_.Report(Error(Code::kE0508, "`groups` takes patterns of parameters' names, and what becomes of these")
                         .At(value.span, "not a map")
                         .Help("such as `{ \"*.bias\": optimizer(weight_decay = 0.0), \"backbone.*\": frozen }`"));
  } else {
    for (const dsl::syntax::MapEntry& entry : map->entries) {
      Group group{.pattern = entry.key.value, .span = entry.key_span, .context = setting.context, .recipe = {}};
      const auto* name = std::get_if<dsl::syntax::Name>(&entry.value->kind);
      if (name == nullptr || name->text != kFrozen) {
        group.recipe = ReadRecipe(*entry.value);
        group.recipe->context = setting.context;
      }
      if (group.recipe.has_value() && !group.recipe->rate_text.empty()) {
        absl::StrAppend(&training.schedule, "; ", group.pattern, ": ", group.recipe->rate_text);
      }
      groups_.Add(std::move(group));
    }
  }
  reporter_.SetContext("");
}

// The function of a recipe is null after a mistake. In a group `optimizer(…)` is the usual one with other arguments.
Recipe Optimizer::ReadRecipe(const dsl::syntax::Expression& setting) {
  const auto* call = std::get_if<dsl::syntax::Call>(&setting.kind);
  const dsl::syntax::Expression& callee = call ? *call->callee : setting;
  Recipe recipe{.context = "", .span = setting.span, .call = {.callee = callee, .arguments = {}}, .rate_text = ""};
  const auto* name = std::get_if<dsl::syntax::Name>(&callee.kind);
  const bool is_usual = usual_.has_value() && name != nullptr && name->text == kUsual;
  const Function* function = is_usual ? usual_->function : name ? FunctionNamed(name->text) : nullptr;
  if (function == nullptr) {
    ReportUnknown(callee, name ? name->text : "");
    return recipe;
  }
  const std::optional<size_t> rate = PlaceOfRate(*function->syntax);
  if (!rate.has_value()) {
    reporter_.Report(Error(Code::kE0518, absl::StrCat("`", name->text, "` cannot be an optimizer"))
                         .At(callee.span, "named as one here")
                         .At(function->syntax->name.span, "defined here")
                         .Note(absl::StrCat("its signature is `", SignatureOf(*function->syntax).ToString(), "`"))
                         .Help(absl::StrCat("the form of one is `", kSignature, "`")));
    return recipe;
  }
  if (call == nullptr) {
    reporter_.Report(Error(Code::kE0508, absl::StrCat("`", name->text, "` is to be called"))
                         .At(setting.span, "without its arguments")
                         .Help(absl::StrCat("`", name->text, "(lr = 0.01)`")));
    return recipe;
  }
  recipe.function = function;
  if (is_usual) {
    recipe.call = usual_->call;
    recipe.rate = usual_->rate;
  }
  ReadArguments(*call, *rate, is_usual, recipe);
  return recipe;
}

void Optimizer::ReadArguments(const dsl::syntax::Call& call, size_t rate, bool is_usual, Recipe& recipe) {
  const std::vector<dsl::syntax::Parameter>& parameters = recipe.function->syntax->parameters;
  Signature signature = SignatureOf(*recipe.function->syntax);
  signature.arguments.erase(signature.arguments.begin(), signature.arguments.begin() + kTensors);
  if (is_usual) {
    for (FormalArgument& argument : signature.arguments) argument.required = false;
  }
  const auto matched = MatchArguments(signature, call.arguments, recipe.span, reporter_);
  if (!matched) return;
  std::vector<dsl::syntax::Argument>& arguments = recipe.call.arguments;
  for (size_t i = 0; i < matched->size(); ++i) {
    if ((*matched)[i] == nullptr || i + kTensors == rate) continue;
    const dsl::syntax::Identifier& name = parameters[i + kTensors].name;
    arguments.erase(std::remove_if(arguments.begin(), arguments.end(),
                                   [&](const dsl::syntax::Argument& old) { return old.name->text == name.text; }),
                    arguments.end());
    arguments.push_back(*(*matched)[i]);
    arguments.back().name = name;
  }
  const dsl::syntax::Argument* given = (*matched)[rate - kTensors];
  if (given != nullptr || !is_usual)
    ReadRate(given != nullptr ? *given->value : *parameters[rate].default_value, recipe);
}

// In a group `lr` is the usual learning rate.
void Optimizer::ReadRate(const dsl::syntax::Expression& expression, Recipe& recipe) {
  const Value value = usual_.has_value() ? evaluator_.EvaluateInStep(expression, {{kRate, Value{usual_->rate}}})
                                         : evaluator_.EvaluateInStep(expression);
  if (value.is_poison()) return;
  if (!value.is_number() && (!value.is_of_step() || value.as_of_step().is_condition)) {
    reporter_.Report(Error(Code::kE0204, "`lr` must be a number")
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, evaluator_.graph()))));
    return;
  }
  recipe.rate = ToFormula(value);
  recipe.rate.name = "learning_rate";
  recipe.rate_text = ExpressionText(expression);
  for (int64_t step = 1; step <= kLastStep; step *= 10) {
    const double rate = ValueAtStep(recipe.rate, static_cast<double>(step));
    if (rate >= 0 && rate <= std::numeric_limits<float>::max()) continue;
    const std::string at = value.is_number() ? "" : absl::StrCat(" at step ", FormatCount(step));
    reporter_.Report(Error(Code::kE0508, "`lr` must be 0 or more")
                         .At(expression.span, absl::StrCat("this is ", FormatDouble(rate), at)));
    return;
  }
}

void Optimizer::ReportUnknown(const dsl::syntax::Expression& callee, const std::string& name) {
  std::vector<std::string> known;
  for (const std::string& each : functions_.Names()) {
    const Function* function = FunctionNamed(each);
    if (function != nullptr && PlaceOfRate(*function->syntax).has_value()) known.push_back(each);
  }
  Diagnostic error =
      Error(Code::kE0508, name.empty() ? "unknown optimizer" : absl::StrCat("unknown optimizer `", name, "`"))
          .At(callee.span, absl::StrCat("expected ", QuotedList(known, "or")));
  if (const auto nearest = NearestName(name, known)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter_.Report(std::move(error));
}

OptimizerExpansion Optimizer::Expand(const Expansion& model, ir::Training& training) {
  std::optional<TrainingLosses> found = FindTrainingLosses(model, reporter_);
  if (!found.has_value()) return {};
  std::vector<Trained> all;
  std::vector<std::string> names;
  for (const ir::OpId id : found->trained) {
    const ir::Op& parameter = model.graph.op(id);
    const Recipe& recipe = groups_.RecipeOf(parameter, *usual_);
    parts_.push_back({.first = evaluator_.ops().size(), .parameter = parameter.name, .line = parameter.line});
    const Evaluator::Trained added = evaluator_.AddTrained(parameter);
    all.push_back({.parameter = parameter, .recipe = recipe, .own = added.parameter, .gradient = added.gradient});
    names.push_back(parameter.name);
    if (recipe.function != usual_->function) training.other_optimizers[parameter.name] = recipe.function->name();
  }
  groups_.CheckTrained(names);
  if (reporter_.has_errors()) return {};
  bool ok = !clip_.has_value() || all.empty() || Clip(all);
  for (const Trained& trained : all) {
    reporter_.SetContext(trained.recipe.context);
    ok = ok && Update(trained);
  }
  reporter_.SetContext("");
  if (!ok || parts_.empty()) return {};
  OptimizerExpansion expansion = Finish();
  expansion.updates.losses = std::move(found->losses);
  return expansion;
}

// The value of a function of the prelude of which nothing is named after a parameter.
std::optional<ir::OpId> Optimizer::CallPrelude(const std::string& function, std::vector<Value> tensors) {
  const dsl::syntax::Call call{
      .callee = dsl::syntax::Expression{.span = usual_->span, .kind = dsl::syntax::Name{function}}, .arguments = {}};
  const Value value = evaluator_.Call(
      call, usual_->span,
      {.function = functions_.InPrelude(function), .first = std::move(tensors), .named = {}, .path = "clip"});
  return value.is_tensor() ? std::make_optional(value.as_tensor()) : std::nullopt;
}

// Makes all gradients shorter by one factor where they are longer than `clip` together. The sum of squares begins with
// those of the first parameter, so that its order is that of the model.
bool Optimizer::Clip(std::vector<Trained>& all) {
  for (const Trained& trained : all) {
    if (!trained.parameter.attributes.Get(ir::attribute::kLocal)) continue;
    reporter_.Report(Error(Code::kE0220, "`clip` with parameters of which each rank has its own")
                         .At(usual_->span, absl::StrCat("`", trained.parameter.name, "` is `#[local]`"))
                         .Note("the norm of all gradients would differ between the ranks"));
    return false;
  }
  parts_.push_back({.first = evaluator_.ops().size(), .parameter = "clip", .line = 0});
  const auto tensor = [](ir::OpId op) { return Value{TensorValue{op}}; };
  std::optional<ir::OpId> squares;
  for (const Trained& trained : all) {
    std::vector<Value> tensors = {tensor(trained.gradient)};
    if (squares.has_value()) tensors.push_back(tensor(*squares));
    squares = CallPrelude(squares.has_value() ? "more_squares" : "sum_of_squares", std::move(tensors));
    if (!squares.has_value()) return false;
  }
  const std::optional<ir::OpId> factor = CallPrelude("clip_factor", {tensor(*squares), Value{*clip_}});
  if (!factor.has_value()) return false;
  for (Trained& trained : all) {
    parts_.push_back(
        {.first = evaluator_.ops().size(), .parameter = trained.parameter.name, .line = trained.parameter.line});
    trained.gradient = evaluator_.ops().AddValid(ir::OpKind::kMul, {trained.gradient, *factor}, {},
                                                 absl::StrCat(trained.parameter.name, ".clipped"), Span());
  }
  return true;
}

// Whether the function that has been called says only what is computed; reports anything else.
bool Optimizer::HasNoDemands(const Recipe& recipe) {
  if (evaluator_.has_looks()) {
    reporter_.Report(
        Error(Code::kE0211, absl::StrCat("`print` or `assert_finite` inside of `", recipe.function->name(), "`"))
            .At(recipe.span, "expanded for each parameter")
            .Help("`print(w.momentum)` in the model shows what the optimizer keeps of `w`"));
  }
  if (evaluator_.has_demands()) {
    reporter_.Report(Error(Code::kE0305, absl::StrCat("an attribute inside of `", recipe.function->name(), "`"))
                         .At(recipe.span, "what is computed of a parameter lies as the parameter does"));
  }
  return !reporter_.has_errors();
}

// Expands the function for one parameter. False after a mistake.
bool Optimizer::Update(const Trained& trained) {
  const ir::Op& parameter = trained.parameter;
  const Recipe& recipe = trained.recipe;
  parts_.push_back({.first = evaluator_.ops().size(), .parameter = parameter.name, .line = parameter.line});
  const Value result =
      evaluator_.Call(recipe.call, recipe.span,
                      {.function = recipe.function,
                       .first = {Value{TensorValue{trained.own}}, Value{TensorValue{trained.gradient}}},
                       .named = {{kRate, Value{recipe.rate}}},
                       .path = parameter.name,
                       .is_local = parameter.attributes.Get(ir::attribute::kLocal)});
  if (result.is_poison() || reporter_.has_errors() || !HasNoDemands(recipe)) return false;
  const ir::Graph& graph = evaluator_.graph();
  if (graph.op(result.as_tensor()).type != parameter.type) {
    reporter_.Report(
        Error(Code::kE0518, absl::StrCat("`", recipe.function->name(), "` gives ", DescribeType(result, graph),
                                         " for a parameter that is ", parameter.type.ToString()))
            .At(recipe.span, absl::StrCat("of `", parameter.name, "`"))
            .At(recipe.function->syntax->results[0].span, "declared here")
            .Help(absl::StrCat("the result is the parameter after the step: `", kSignature, "`")));
    return false;
  }
  evaluator_.ops().builder().mutable_graph().updates.push_back({.state = trained.own, .value = result.as_tensor()});
  return true;
}

// What all calls of Update have made.
OptimizerExpansion Optimizer::Finish() {
  const Expansion expansion = std::move(evaluator_).Finish();
  IdVector<ir::OpId, ir::OpId> places;
  OptimizerExpansion result{.updates = ShareScalars(expansion.graph, parts_, places)};
  for (const auto& [id, call] : expansion.custom_calls) result.custom_calls[places[id]] = call;
  return result;
}

}  // namespace cleave::frontend
