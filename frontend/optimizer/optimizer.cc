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

namespace cleave::frontend {
namespace {

constexpr char kRate[] = "lr";
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
  const auto given = std::find_if(settings.begin(), settings.end(),
                                  [](const SettingText& text) { return text.setting.name.text == "optimizer"; });
  for (const SettingText& text : settings) {
    if (text.setting.name.text == "clip") ReadClip(text);
  }
  if (given != settings.end()) context_ = given->context;
  reporter_.SetContext(context_);
  ReadCall(given == settings.end() ? DefaultOptimizer() : given->setting.value, training);
  reporter_.SetContext("");
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

void Optimizer::ReadCall(const dsl::syntax::Expression& setting, ir::Training& training) {
  span_ = setting.span;
  const auto* call = std::get_if<dsl::syntax::Call>(&setting.kind);
  const dsl::syntax::Expression& callee = call ? *call->callee : setting;
  const auto* name = std::get_if<dsl::syntax::Name>(&callee.kind);
  function_ = name ? FunctionNamed(name->text) : nullptr;
  if (function_ == nullptr) return ReportUnknown(callee, name ? name->text : "");
  const std::optional<size_t> rate = PlaceOfRate(*function_->syntax);
  if (!rate.has_value()) {
    reporter_.Report(Error(Code::kE0518, absl::StrCat("`", name->text, "` cannot be an optimizer"))
                         .At(callee.span, "named as one here")
                         .At(function_->syntax->name.span, "defined here")
                         .Note(absl::StrCat("its signature is `", SignatureOf(*function_->syntax).ToString(), "`"))
                         .Help(absl::StrCat("the form of one is `", kSignature, "`")));
  } else if (call == nullptr) {
    reporter_.Report(Error(Code::kE0508, absl::StrCat("`", name->text, "` is to be called"))
                         .At(setting.span, "without its arguments")
                         .Help(absl::StrCat("`", name->text, "(lr = 0.01)`")));
  } else {
    training.optimizer = name->text;
    ReadArguments(*call, *rate, training);
  }
}

void Optimizer::ReadArguments(const dsl::syntax::Call& call, size_t rate, ir::Training& training) {
  const std::vector<dsl::syntax::Parameter>& parameters = function_->syntax->parameters;
  Signature signature = SignatureOf(*function_->syntax);
  signature.arguments.erase(signature.arguments.begin(), signature.arguments.begin() + kTensors);
  const auto matched = MatchArguments(signature, call.arguments, span_, reporter_);
  if (!matched) return;
  call_ = {.callee = call.callee, .arguments = {}};
  for (size_t i = 0; i < matched->size(); ++i) {
    if ((*matched)[i] == nullptr || i + kTensors == rate) continue;
    call_->arguments.push_back(*(*matched)[i]);
    call_->arguments.back().name = parameters[i + kTensors].name;
  }
  const dsl::syntax::Argument* given = (*matched)[rate - kTensors];
  ReadRate(given != nullptr ? *given->value : *parameters[rate].default_value, training);
}

void Optimizer::ReadRate(const dsl::syntax::Expression& expression, ir::Training& training) {
  const Value value = evaluator_.EvaluateInStep(expression);
  if (value.is_poison()) return;
  if (!value.is_number() && (!value.is_of_step() || value.as_of_step().is_condition)) {
    reporter_.Report(Error(Code::kE0204, "`lr` must be a number")
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, evaluator_.graph()))));
    return;
  }
  rate_ = ToFormula(value);
  rate_.name = "learning_rate";
  training.learning_rate = ir::ScalarText(rate_.formula);
  training.schedule = ExpressionText(expression);
  for (int64_t step = 1; step <= kLastStep; step *= 10) {
    const double rate = ValueAtStep(rate_, static_cast<double>(step));
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

OptimizerExpansion Optimizer::Expand(const ir::Graph& model) {
  reporter_.SetContext(context_);
  std::vector<Trained> all;
  for (const ir::OpId id : ir::TrainedParameters(model)) {
    const ir::Op& parameter = model.op(id);
    parts_.push_back({.first = evaluator_.ops().size(), .parameter = parameter.name, .line = parameter.line});
    const Evaluator::Trained added = evaluator_.AddTrained(parameter);
    all.push_back({.parameter = parameter, .own = added.parameter, .gradient = added.gradient});
  }
  bool ok = !clip_.has_value() || all.empty() || Clip(all);
  for (const Trained& trained : all) ok = ok && Update(trained);
  OptimizerExpansion expansion = ok ? Finish() : OptimizerExpansion();
  reporter_.SetContext("");
  return expansion;
}

// The value of a function of the prelude of which nothing is named after a parameter.
std::optional<ir::OpId> Optimizer::CallPrelude(const std::string& function, std::vector<Value> tensors) {
  const dsl::syntax::Call call{.callee = dsl::syntax::Expression{.span = span_, .kind = dsl::syntax::Name{function}},
                               .arguments = {}};
  const Value value = evaluator_.Call(
      call, span_,
      {.function = functions_.InPrelude(function), .first = std::move(tensors), .named = {}, .path = "clip"});
  return value.is_tensor() ? std::make_optional(value.as_tensor()) : std::nullopt;
}

// Makes all gradients shorter by one factor where they are longer than `clip` together. The sum of squares begins with
// those of the first parameter, so that its order is that of the model.
bool Optimizer::Clip(std::vector<Trained>& all) {
  for (const Trained& trained : all) {
    if (!trained.parameter.attributes.Get(ir::attribute::kLocal)) continue;
    reporter_.Report(Error(Code::kE0220, "`clip` with parameters of which each rank has its own")
                         .At(span_, absl::StrCat("`", trained.parameter.name, "` is `#[local]`"))
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

// Expands the function for one parameter. False after a mistake.
bool Optimizer::Update(const Trained& trained) {
  const ir::Op& parameter = trained.parameter;
  parts_.push_back({.first = evaluator_.ops().size(), .parameter = parameter.name, .line = parameter.line});
  const Value result =
      evaluator_.Call(*call_, span_,
                      {.function = function_,
                       .first = {Value{TensorValue{trained.own}}, Value{TensorValue{trained.gradient}}},
                       .named = {{kRate, Value{rate_}}},
                       .path = parameter.name,
                       .is_local = parameter.attributes.Get(ir::attribute::kLocal)});
  if (result.is_poison() || reporter_.has_errors()) return false;
  const ir::Graph& graph = evaluator_.graph();
  if (graph.op(result.as_tensor()).type != parameter.type) {
    reporter_.Report(Error(Code::kE0518, absl::StrCat("`", function_->name(), "` gives ", DescribeType(result, graph),
                                                      " for a parameter that is ", parameter.type.ToString()))
                         .At(span_, absl::StrCat("of `", parameter.name, "`"))
                         .At(function_->syntax->results[0].span, "declared here")
                         .Help(absl::StrCat("the result is the parameter after the step: `", kSignature, "`")));
    return false;
  }
  evaluator_.ops().builder().mutable_graph().updates.push_back({.state = trained.own, .value = result.as_tensor()});
  return true;
}

// What all calls of Update have made.
OptimizerExpansion Optimizer::Finish() {
  Expansion expansion = std::move(evaluator_).Finish();
  if (!expansion.graph.looks.empty() || !expansion.looks_by_name.empty()) {
    reporter_.Report(Error(Code::kE0211, absl::StrCat("`print` or `assert_finite` inside of `", function_->name(), "`"))
                         .At(span_, "expanded for each parameter")
                         .Help("`print(w.momentum)` in the model shows what the optimizer keeps of `w`"));
  }
  if (!expansion.pins.empty() || !expansion.priorities.empty() || !expansion.regions.empty() ||
      !expansion.retentions.empty()) {
    reporter_.Report(Error(Code::kE0305, absl::StrCat("an attribute inside of `", function_->name(), "`"))
                         .At(span_, "what is computed of a parameter lies as the parameter does"));
  }
  if (reporter_.has_errors() || parts_.empty()) return {};
  IdVector<ir::OpId, ir::OpId> places;
  OptimizerExpansion result{.updates = ShareScalars(expansion.graph, parts_, places)};
  for (const auto& [id, call] : expansion.custom_calls) result.custom_calls[places[id]] = call;
  return result;
}

}  // namespace cleave::frontend
