#include "frontend/optimizer/optimizer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/step_formula.h"
#include "frontend/optimizer/named_number.h"
#include "frontend/optimizer/share.h"
#include "frontend/optimizer/training_losses.h"
#include "frontend/optimizer/turns.h"
#include "ir/graph/ops/builder.h"

namespace cleave::frontend {
namespace {

constexpr char kRate[] = "lr";
constexpr char kFrozen[] = "frozen";       // In a group: no optimizer.
constexpr char kUsual[] = "optimizer";     // In a group: what the setting of this name says.
constexpr char kScheduledRate[] = "rate";  // What schedules of the prelude call it.
constexpr size_t kTensors = 2;  // The arguments of an optimizer that no setting gives: the parameter and its gradient.
constexpr char kLossScale[] = "loss_scale";
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
  if (const SettingText* scale = find(kLossScale)) {
    loss_scale_.Read(*scale, evaluator_);
  } else if (training.precision == ir::Precision::kF16) {
    loss_scale_.BecomeDynamic(evaluator_);
  }
  const SettingText* given = find("optimizer");
  const std::string context = given == nullptr ? "" : given->context;
  reporter_.SetContext(context);
  usual_ = ReadRecipe(given == nullptr ? DefaultOptimizer() : given->setting.value, kUsual);
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
  const std::optional<double> longest = evaluator_.EvaluateNumber(value, "`clip`");
  if (longest.has_value()) {
    const ir::Scalar number = ir::NamedNumber("clip", *longest);
    evaluator_.demands().Add(number > 0, "`clip` must be positive, not {clip}");
    clip_ = Value{StepValue{.formula = number, .name = "longest"}};
  }
  if (longest.has_value() && *longest <= 0) {
    reporter_.Report(
        Error(Code::kE0508, "`clip` must be positive: it is the longest that all gradients together may be")
            .At(value.span, absl::StrCat("this is ", FormatDouble(*longest))));
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
        group.recipe = ReadRecipe(*entry.value, absl::StrCat("groups.", group.pattern));
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
Recipe Optimizer::ReadRecipe(const dsl::syntax::Expression& setting, const std::string& path) {
  const auto* call = std::get_if<dsl::syntax::Call>(&setting.kind);
  const dsl::syntax::Expression& callee = call ? *call->callee : setting;
  Recipe recipe{
      .context = "", .span = setting.span, .path = path, .call = {.callee = callee, .arguments = {}}, .rate_text = ""};
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
    recipe.numbers = usual_->numbers;
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
    if (i + kTensors == rate || (is_usual && (*matched)[i] == nullptr)) continue;
    const dsl::syntax::Parameter& parameter = parameters[i + kTensors];
    const dsl::syntax::Identifier& name = parameter.name;
    const bool is_real = parameter.type.element.text == "float";
    const auto number = is_real ? NamedNumber(parameter, (*matched)[i], absl::StrCat(recipe.path, ".", name.text),
                                              NamesInGroup(), evaluator_)
                                : std::nullopt;
    if (number.has_value()) recipe.numbers[name.text] = *number;
    if (number.has_value() || (*matched)[i] == nullptr) continue;
    arguments.erase(std::remove_if(arguments.begin(), arguments.end(),
                                   [&](const dsl::syntax::Argument& old) { return old.name->text == name.text; }),
                    arguments.end());
    recipe.numbers.erase(name.text);
    arguments.push_back(*(*matched)[i]);
    arguments.back().name = name;
  }
  const dsl::syntax::Argument* given = (*matched)[rate - kTensors];
  if (given != nullptr || !is_usual)
    ReadRate(given != nullptr ? *given->value : *parameters[rate].default_value, recipe);
}

void Optimizer::ReadRate(const dsl::syntax::Expression& expression, Recipe& recipe) {
  const Value value = evaluator_.EvaluateInStep(expression, NamesInGroup());
  if (value.is_poison()) return;
  if (!value.is_number() && (!value.is_of_step() || value.as_of_step().is_condition)) {
    reporter_.Report(Error(Code::kE0204, "`lr` must be a number")
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, evaluator_.graph()))));
    return;
  }
  recipe.rate = ToFormula(NamedRate(expression, value, recipe));
  const bool is_usual =
      !usual_.has_value() || ir::ScalarText(recipe.rate.formula) == ir::ScalarText(usual_->rate.formula);
  recipe.rate.name = is_usual ? "learning_rate" : "group_rate";
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

// A number, or a call that computes a number, with names for the numbers that it takes. The flag `--lr` changes `lr`,
// which is the whole learning rate or the `rate` of a schedule. `value`: the same without.
Value Optimizer::NamedRate(const dsl::syntax::Expression& expression, const Value& value, const Recipe& recipe) {
  const bool is_usual = !usual_.has_value();
  const std::string path = absl::StrCat(recipe.path, ".", kRate);
  if (value.is_number()) {
    const std::string number = is_usual ? kRate : path;
    const StepValue named{.formula = ir::NamedNumber(number, value.as_number())};
    evaluator_.demands().Add(named.formula >= 0, absl::StrCat("`", number, "` must be 0 or more, not {", number, "}"));
    return Value{named};
  }
  const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind);
  const auto* name = call ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : nullptr;
  const Function* schedule = name ? FunctionNamed(name->text) : nullptr;
  if (schedule == nullptr) return value;
  const std::vector<dsl::syntax::Parameter>& parameters = schedule->syntax->parameters;
  const auto matched = MatchArguments(SignatureOf(*schedule->syntax), call->arguments, expression.span, reporter_);
  dsl::syntax::Call rest{.callee = call->callee, .arguments = {}};
  std::map<std::string, Value> numbers;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& parameter = parameters[i].name.text;
    const bool is_flag = is_usual && parameter == kScheduledRate;
    const auto number = NamedNumber(parameters[i], (*matched)[i], is_flag ? kRate : absl::StrCat(path, ".", parameter),
                                    NamesInGroup(), evaluator_);
    if (number.has_value()) {
      numbers[parameter] = *number;
    } else if ((*matched)[i] != nullptr) {
      rest.arguments.push_back(*(*matched)[i]);
      rest.arguments.back().name = parameters[i].name;
    }
  }
  return evaluator_.Call(rest, expression.span,
                         {.function = schedule, .first = {}, .named = std::move(numbers), .path = kScheduledRate});
}

// In a group `lr` is the usual learning rate.
std::map<std::string, Value> Optimizer::NamesInGroup() const {
  return usual_.has_value() ? std::map<std::string, Value>{{kRate, Value{usual_->rate}}}
                            : std::map<std::string, Value>();
}

void Optimizer::ReportUnknown(const dsl::syntax::Expression& callee, const std::string& name) {
  std::vector<std::string> known;
  for (const std::string& each : functions_.Names(nullptr)) {
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

OptimizerExpansion Optimizer::Expand(Expansion& model, ir::Training& training) {
  std::optional<TrainingLosses> found = FindTrainingLosses(model, reporter_);
  if (!found.has_value()) return {};
  if (!found->trained.empty() && !loss_scale_.Add(model.graph, usual_->span, writer_)) return {};
  std::vector<Trained> all;
  std::vector<std::string> names;
  for (const ir::OpId id : found->trained) {
    const ir::Op& parameter = model.graph.op(id);
    const Recipe& recipe = groups_.RecipeOf(parameter, *usual_);
    writer_.Begin(parameter);
    const Evaluator::Trained added = evaluator_.AddTrained(parameter);
    const auto turns = found->turns.find(id);
    all.push_back({.parameter = parameter,
                   .recipe = recipe,
                   .own = added.parameter,
                   .gradient = added.gradient,
                   .turns = turns != found->turns.end() ? std::make_optional(turns->second) : std::nullopt});
    names.push_back(parameter.name);
    if (recipe.function != usual_->function) training.other_optimizers[parameter.name] = recipe.function->name();
  }
  groups_.CheckTrained(names);
  if (reporter_.has_errors()) return {};
  bool ok = all.empty() || (loss_scale_.Unscale(all, writer_) && (!clip_.has_value() || Clip(all)));
  for (const Trained& trained : all) {
    reporter_.SetContext(trained.recipe.context);
    ok = ok && Update(trained);
  }
  reporter_.SetContext("");
  if (!ok || writer_.parts().empty()) return {};
  TakeTurns(model.graph, found->turns);
  training.demands = evaluator_.demands().all();
  OptimizerExpansion expansion = Finish();
  expansion.updates.losses = std::move(found->losses);
  return expansion;
}

// The model's own updates of states that are updated in these steps only.
void Optimizer::TakeTurns(const ir::Graph& model, const std::map<ir::OpId, Turns>& turns) {
  for (const ir::StateUpdate& update : model.updates) {
    const auto found = turns.find(update.state);
    if (found == turns.end()) continue;
    const ir::Op& state = model.op(update.state);
    writer_.Begin(state);
    const size_t first = evaluator_.graph().updates.size();
    const Evaluator::Trained added = evaluator_.AddTrained(state);
    evaluator_.ops().builder().mutable_graph().updates.push_back({.state = added.parameter, .value = added.gradient});
    writer_.KeepWhere(writer_.AddTurn(found->second, state.name), first, /*keeps=*/false);
  }
}

// Finds the factor by which all gradients are made shorter where they are longer than `clip` together.
bool Optimizer::Clip(const std::vector<Trained>& all) {
  for (const Trained& trained : all) {
    if (!trained.parameter.attributes.Get(ir::attribute::kLocal)) continue;
    reporter_.Report(Error(Code::kE0220, "`clip` with parameters of which each rank has its own")
                         .At(usual_->span, absl::StrCat("`", trained.parameter.name, "` is `#[local]`"))
                         .Note("the norm of all gradients would differ between the ranks"));
    return false;
  }
  const UpdateWriter::PreludeCall call = {.path = "clip", .span = usual_->span};
  const std::optional<ir::OpId> squares = writer_.SumOverGradients("sum_of_squares", call, all);
  if (!squares.has_value()) return false;
  const Value factor = writer_.CallPrelude("clip_factor", call, {Value{TensorValue{*squares}}, *clip_});
  if (!factor.is_tensor()) return false;
  clip_factor_ = factor.as_tensor();
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
bool Optimizer::Update(Trained trained) {
  const ir::Op& parameter = trained.parameter;
  writer_.Begin(parameter);
  if (clip_factor_.has_value()) {
    trained.gradient = evaluator_.ops().AddValid(ir::OpKind::kMul, {trained.gradient, *clip_factor_}, {},
                                                 absl::StrCat(parameter.name, ".clipped"), Span());
  }
  const size_t first = evaluator_.graph().updates.size();
  if (!CallWasCopied(trained) && !Call(trained)) return false;
  if (trained.turns.has_value()) {
    writer_.KeepWhere(writer_.AddTurn(*trained.turns, parameter.name), first, /*keeps=*/false);
  }
  if (loss_scale_.not_finite().has_value()) writer_.KeepWhere(*loss_scale_.not_finite(), first, /*keeps=*/true);
  return true;
}

// The function makes the same of parameters that are alike.
bool Optimizer::CallWasCopied(const Trained& trained) {
  const auto is_like = [&](const ExpandedUpdate& expanded) {
    const Trained& other = expanded.of;
    return &other.recipe == &trained.recipe && other.parameter.type == trained.parameter.type &&
           other.turns == trained.turns &&
           other.parameter.attributes.Get(ir::attribute::kLocal) ==
               trained.parameter.attributes.Get(ir::attribute::kLocal);
  };
  const auto found = std::find_if(expanded_.begin(), expanded_.end(), is_like);
  if (found == expanded_.end()) return false;
  writer_.Copy(*found, trained);
  return true;
}

// False after a mistake.
bool Optimizer::Call(const Trained& trained) {
  const ir::Op& parameter = trained.parameter;
  const Recipe& recipe = trained.recipe;
  ExpandedUpdate expanded{.of = trained, .first = ir::OpId(evaluator_.ops().size())};
  const size_t first = evaluator_.graph().updates.size();
  std::map<std::string, Value> named = recipe.numbers;
  named[kRate] = Value{recipe.rate};
  const Value result =
      evaluator_.Call(recipe.call, recipe.span,
                      {.function = recipe.function,
                       .first = {Value{TensorValue{trained.own}}, Value{TensorValue{trained.gradient}}},
                       .named = std::move(named),
                       .path = parameter.name,
                       .is_local = parameter.attributes.Get(ir::attribute::kLocal),
                       .step = trained.turns.has_value() ? Value{TurnNumber(*trained.turns)} : StepNumber()});
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
  expanded.end = ir::OpId(evaluator_.ops().size());
  expanded.updates.assign(graph.updates.begin() + static_cast<std::ptrdiff_t>(first), graph.updates.end());
  const auto is_its_own = [&](const ir::Op& op) {
    return op.attributes.Has(ir::attribute::kKey) || op.kind == ir::OpKind::kCustom ||
           !absl::StartsWith(op.name, parameter.name);
  };
  if (std::none_of(graph.ops.begin() + expanded.first.value(), graph.ops.end(), is_its_own)) {
    expanded_.push_back(std::move(expanded));
  }
  return true;
}

// What all calls of Update have made.
OptimizerExpansion Optimizer::Finish() {
  const Expansion expansion = std::move(evaluator_).Finish();
  IdVector<ir::OpId, ir::OpId> places;
  OptimizerExpansion result{.updates = ShareScalars(expansion.graph, writer_.parts(), places)};
  if (loss_scale_.scale().has_value()) result.updates.loss_scale = places[*loss_scale_.scale()];
  for (const auto& [id, call] : expansion.custom_calls) result.custom_calls[places[id]] = call;
  return result;
}

}  // namespace cleave::frontend
