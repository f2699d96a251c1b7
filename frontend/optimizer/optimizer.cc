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
constexpr char kDynamicScale[] = "dynamic_loss_scale";
constexpr size_t kTensorsOfScale = 3;         // The scale, the steps since it has changed, and what was not finite.
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

Value Tensor(ir::OpId op) { return Value{TensorValue{op}}; }

bool IsLiteral(const dsl::syntax::Expression& expression) {
  if (const auto* negated = std::get_if<dsl::syntax::Negate>(&expression.kind)) return IsLiteral(*negated->operand);
  return std::holds_alternative<dsl::syntax::IntegerLiteral>(expression.kind) ||
         std::holds_alternative<dsl::syntax::FloatLiteral>(expression.kind);
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
    ReadLossScale(*scale);
  } else if (training.precision == ir::Precision::kF16) {
    ReadDynamicScale({});
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

// A number, or `dynamic(initial = 65536.0, …)`, whose other arguments are those of the prelude's function.
void Optimizer::ReadLossScale(const SettingText& setting) {
  const dsl::syntax::Expression& value = setting.setting.value;
  reporter_.SetContext(setting.context);
  loss_scale_span_ = value.span;
  const auto* call = std::get_if<dsl::syntax::Call>(&value.kind);
  const auto* callee = std::get_if<dsl::syntax::Name>(call != nullptr ? &call->callee->kind : &value.kind);
  if (callee != nullptr && callee->text == "dynamic") {
    ReadDynamicScale(call != nullptr ? call->arguments : std::vector<dsl::syntax::Argument>());
  } else if (const auto number = evaluator_.EvaluateNumber(value, "`loss_scale`")) {
    loss_scale_ = *number;
  }
  if (!(loss_scale_ > 0 && loss_scale_ <= std::numeric_limits<float>::max())) {
    reporter_.Report(Error(Code::kE0508, "`loss_scale` must be positive and finite: gradients are divided by it")
                         .At(value.span, absl::StrCat("this is ", FormatDouble(loss_scale_))));
  }
  reporter_.SetContext("");
}

void Optimizer::ReadDynamicScale(const std::vector<dsl::syntax::Argument>& arguments) {
  const std::vector<dsl::syntax::Parameter>& parameters = functions_.InPrelude(kDynamicScale)->syntax->parameters;
  Signature signature = SignatureOf(*functions_.InPrelude(kDynamicScale)->syntax);
  signature.callee = "dynamic";
  signature.arguments.erase(signature.arguments.begin(), signature.arguments.begin() + kTensorsOfScale);
  const auto matched = MatchArguments(signature, arguments, loss_scale_span_, reporter_);
  if (!matched) return;
  dynamic_scale_.emplace();
  for (size_t i = 0; i < matched->size(); ++i) {
    if ((*matched)[i] == nullptr) continue;
    dynamic_scale_->push_back(*(*matched)[i]);
    dynamic_scale_->back().name = parameters[i + kTensorsOfScale].name;
  }
  const dsl::syntax::Argument* given = matched->front();
  const auto initial = evaluator_.EvaluateNumber(
      given != nullptr ? *given->value : *parameters[kTensorsOfScale].default_value, "`initial`");
  if (initial.has_value()) loss_scale_ = *initial;
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
    const auto number =
        is_real ? NamedNumber(parameter, (*matched)[i], absl::StrCat(recipe.path, ".", name.text)) : std::nullopt;
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
    const auto number = NamedNumber(parameters[i], (*matched)[i], is_flag ? kRate : absl::StrCat(path, ".", parameter));
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

// What an argument of an optimizer or of a schedule is, where it is a number: that of the model, which a flag of the
// name changes, or one of the step. A default is one where it is written as a number.
std::optional<Value> Optimizer::NamedNumber(const dsl::syntax::Parameter& parameter, const dsl::syntax::Argument* given,
                                            const std::string& name) {
  const std::string& type = parameter.type.element.text;
  const bool is_whole = type == "int";
  if (parameter.type.dimensions.has_value() || (!is_whole && type != "float")) return std::nullopt;
  if (given == nullptr && (!parameter.default_value.has_value() || !IsLiteral(*parameter.default_value))) {
    return std::nullopt;
  }
  Value value = evaluator_.EvaluateInStep(given != nullptr ? *given->value : *parameter.default_value, NamesInGroup());
  if (value.is_of_step() && !value.as_of_step().is_condition && !is_whole) return value;
  if (!(is_whole ? value.is_int() : value.is_number())) return std::nullopt;
  // What a formula cannot name stays a number.
  if (name.find_first_of("(), =") != std::string::npos) return value;
  StepValue named{.formula = ir::NamedNumber(name, value.as_number()), .name = parameter.name.text};
  if (is_whole) {
    named.is_whole = true;
    evaluator_.demands().Add(ir::Equal(ir::ToInt32(named.formula), named.formula),
                             absl::StrCat("`", name, "` must be a whole number, not {", name, "}"));
  }
  return Value{std::move(named)};
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
  if (!found->trained.empty() && !AddScale(model.graph)) return {};
  std::vector<Trained> all;
  std::vector<std::string> names;
  for (const ir::OpId id : found->trained) {
    const ir::Op& parameter = model.graph.op(id);
    const Recipe& recipe = groups_.RecipeOf(parameter, *usual_);
    parts_.push_back({.first = evaluator_.ops().size(), .parameter = parameter.name, .line = parameter.line});
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
  bool ok = all.empty() || (Unscale(all) && (!clip_.has_value() || Clip(all)));
  for (const Trained& trained : all) {
    reporter_.SetContext(trained.recipe.context);
    ok = ok && Update(trained);
  }
  reporter_.SetContext("");
  if (!ok || parts_.empty()) return {};
  TakeTurns(model.graph, found->turns);
  training.demands = evaluator_.demands().all();
  OptimizerExpansion expansion = Finish();
  expansion.updates.losses = std::move(found->losses);
  return expansion;
}

// The value of a function of the prelude of which nothing is named after a parameter.
Value Optimizer::CallPrelude(const std::string& function, const std::string& path, std::vector<Value> tensors,
                             std::vector<dsl::syntax::Argument> arguments) {
  const Span span = path == kLossScale ? PlaceOfScale() : usual_->span;
  const dsl::syntax::Call call{.callee = dsl::syntax::Expression{.span = span, .kind = dsl::syntax::Name{function}},
                               .arguments = std::move(arguments)};
  return evaluator_.Call(
      call, span, {.function = functions_.InPrelude(function), .first = std::move(tensors), .named = {}, .path = path});
}

// The sum of what `first` and `more` make of the gradients. It begins with the first parameter, so that its order is
// that of the model. Nullopt after a mistake.
std::optional<ir::OpId> Optimizer::SumOverGradients(const std::string& first, const std::string& more,
                                                    const std::string& path, const std::vector<Trained>& all) {
  parts_.push_back({.first = evaluator_.ops().size(), .parameter = path, .line = 0});
  std::optional<ir::OpId> sum;
  for (const Trained& trained : all) {
    std::vector<Value> tensors = {Tensor(trained.gradient)};
    if (sum.has_value()) tensors.push_back(Tensor(*sum));
    const Value value = CallPrelude(sum.has_value() ? more : first, path, std::move(tensors));
    if (!value.is_tensor()) return std::nullopt;
    OpWriter& ops = evaluator_.ops();
    if (trained.turns.has_value()) {  // Out of its turn a gradient counts nothing.
      const ir::OpId before = sum.has_value() ? *sum : ops.AddConstant(ir::DType::kF32, 0, {.span = {}, .path = path});
      sum = ops.AddValid(ir::OpKind::kWhere, {AddTurn(*trained.turns, path), value.as_tensor(), before}, {},
                         absl::StrCat(path, ".of_turn"), Span());
    } else {
      sum = value.as_tensor();
    }
  }
  return sum;
}

// A state of the model, and what stands for it among the updates.
ir::OpId Optimizer::AddModelState(ir::Graph& model, const std::string& name, double first) {
  ir::GraphBuilder builder(std::move(model));
  const ir::Attributes attributes = {
      {ir::attribute::kShape, ir::Shape{}}, {ir::attribute::kFirst, first}, {ir::attribute::kTrained, false}};
  const ir::OpId state = builder.Add(ir::OpKind::kParameter, {}, attributes, name);
  model = std::move(builder).Build();
  const ir::Op& op = model.op(state);
  return evaluator_.ops().AddValid(ir::OpKind::kParameter, {}, op.attributes, op.name, Span());
}

// The scale of the loss, where there is one. False after a mistake.
bool Optimizer::AddScale(ir::Graph& model) {
  if (!dynamic_scale_.has_value() && loss_scale_ == 1) return true;
  parts_.push_back({.first = evaluator_.ops().size(), .parameter = kLossScale, .line = 0});
  if (!dynamic_scale_.has_value()) {
    const ir::Attributes attributes = {{ir::attribute::kValue, loss_scale_}};
    scale_ = evaluator_.ops().AddValid(ir::OpKind::kConstant, {}, attributes, kLossScale, Span());
    return true;
  }
  if (model.is_manual()) {
    reporter_.Report(Error(Code::kE0220, "a dynamic `loss_scale` in a manual model")
                         .At(PlaceOfScale(), "would be a state, which a manual model does not have")
                         .Help("a number: `loss_scale = 1024.0`"));
    return false;
  }
  scale_ = AddModelState(model, kLossScale, loss_scale_);
  good_steps_ = AddModelState(model, absl::StrCat(kLossScale, ".good_steps"), 0);
  model.metrics.push_back({kLossScale, *model.Find(evaluator_.graph().op(*scale_).name)});
  return true;
}

// Divides all gradients by the scale, and says what that is after the step.
bool Optimizer::Unscale(std::vector<Trained>& all) {
  if (!scale_.has_value()) return true;
  if (dynamic_scale_.has_value() && !UpdateScale(all)) return false;
  OpWriter& ops = evaluator_.ops();
  for (Trained& trained : all) {
    parts_.push_back({.first = ops.size(), .parameter = trained.parameter.name, .line = trained.parameter.line});
    trained.gradient = ops.AddValid(ir::OpKind::kDiv, {trained.gradient, *scale_}, {},
                                    absl::StrCat(trained.parameter.name, ".unscaled"), Span());
  }
  return true;
}

bool Optimizer::UpdateScale(const std::vector<Trained>& all) {
  not_finite_ = SumOverGradients("not_finite", "more_not_finite", kLossScale, all);
  if (!not_finite_.has_value()) return false;
  const Value after = CallPrelude(kDynamicScale, kLossScale,
                                  {Tensor(*scale_), Tensor(*good_steps_), Tensor(*not_finite_)}, *dynamic_scale_);
  if (!after.is_tuple()) return false;
  std::vector<ir::StateUpdate>& updates = evaluator_.ops().builder().mutable_graph().updates;
  updates.push_back({.state = *scale_, .value = after.as_tuple()[0].as_tensor()});
  updates.push_back({.state = *good_steps_, .value = after.as_tuple()[1].as_tensor()});
  return true;
}

// From the `first` update on, states stay as they are where the condition holds, or where it does not.
void Optimizer::KeepWhere(ir::OpId condition, size_t first, bool keeps) {
  OpWriter& ops = evaluator_.ops();
  for (size_t i = first; i < evaluator_.graph().updates.size(); ++i) {
    const ir::StateUpdate update = evaluator_.graph().updates[i];
    const std::vector<ir::OpId> inputs =
        keeps ? std::vector{condition, update.state, update.value} : std::vector{condition, update.value, update.state};
    const ir::OpId kept = ops.AddValid(ir::OpKind::kWhere, inputs, {},
                                       absl::StrCat(evaluator_.graph().op(update.state).name, ".kept"), Span());
    ops.builder().mutable_graph().updates[i].value = kept;
  }
}

// A scalar that is 1 in these steps, and 0 in all others.
ir::OpId Optimizer::AddTurn(const Turns& turns, const std::string& path) {
  return evaluator_.ops().AddStepScalar(IsTurn(turns), {.span = {}, .path = path});
}

// The model's own updates of states that are updated in these steps only.
void Optimizer::TakeTurns(const ir::Graph& model, const std::map<ir::OpId, Turns>& turns) {
  for (const ir::StateUpdate& update : model.updates) {
    const auto found = turns.find(update.state);
    if (found == turns.end()) continue;
    const ir::Op& state = model.op(update.state);
    parts_.push_back({.first = evaluator_.ops().size(), .parameter = state.name, .line = state.line});
    const size_t first = evaluator_.graph().updates.size();
    const Evaluator::Trained added = evaluator_.AddTrained(state);
    evaluator_.ops().builder().mutable_graph().updates.push_back({.state = added.parameter, .value = added.gradient});
    KeepWhere(AddTurn(found->second, state.name), first, /*keeps=*/false);
  }
}

// Makes all gradients shorter by one factor where they are longer than `clip` together.
bool Optimizer::Clip(std::vector<Trained>& all) {
  for (const Trained& trained : all) {
    if (!trained.parameter.attributes.Get(ir::attribute::kLocal)) continue;
    reporter_.Report(Error(Code::kE0220, "`clip` with parameters of which each rank has its own")
                         .At(usual_->span, absl::StrCat("`", trained.parameter.name, "` is `#[local]`"))
                         .Note("the norm of all gradients would differ between the ranks"));
    return false;
  }
  const std::optional<ir::OpId> squares = SumOverGradients("sum_of_squares", "more_squares", "clip", all);
  if (!squares.has_value()) return false;
  const Value factor = CallPrelude("clip_factor", "clip", {Tensor(*squares), *clip_});
  if (!factor.is_tensor()) return false;
  for (Trained& trained : all) {
    parts_.push_back(
        {.first = evaluator_.ops().size(), .parameter = trained.parameter.name, .line = trained.parameter.line});
    trained.gradient = evaluator_.ops().AddValid(ir::OpKind::kMul, {trained.gradient, factor.as_tensor()}, {},
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
  if (trained.turns.has_value()) KeepWhere(AddTurn(*trained.turns, parameter.name), first, /*keeps=*/false);
  if (not_finite_.has_value()) KeepWhere(*not_finite_, first, /*keeps=*/true);
  return true;
}

// What all calls of Update have made.
OptimizerExpansion Optimizer::Finish() {
  const Expansion expansion = std::move(evaluator_).Finish();
  IdVector<ir::OpId, ir::OpId> places;
  OptimizerExpansion result{.updates = ShareScalars(expansion.graph, parts_, places)};
  if (scale_.has_value()) result.updates.loss_scale = places[*scale_];
  for (const auto& [id, call] : expansion.custom_calls) result.custom_calls[places[id]] = call;
  return result;
}

}  // namespace cleave::frontend
