#include "frontend/optimizer/loss_scale.h"

#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/step_formula.h"
#include "frontend/optimizer/named_number.h"
#include "ir/graph/ops/builder.h"

namespace cleave::frontend {
namespace {

constexpr char kScale[] = "loss_scale";
constexpr char kDynamicScale[] = "dynamic_loss_scale";
constexpr char kInitial[] = "initial";
constexpr size_t kTensorsOfScale = 3;  // The scale, the steps since it has changed, and what was not finite.
constexpr double kMostScale = std::numeric_limits<float>::max();

// A state of the model, and what stands for it among the updates.
ir::OpId AddModelState(ir::Graph& model, const std::string& name, const StepValue& first, UpdateWriter& writer) {
  ir::GraphBuilder builder(std::move(model));
  ir::Attributes attributes = {{ir::attribute::kShape, ir::Shape{}},
                               {ir::attribute::kFirst, ValueAtStep(first, 1)},
                               {ir::attribute::kTrained, false}};
  if (!first.formula.name().empty()) attributes.Set(ir::attribute::kFormula, ir::ScalarText(first.formula));
  const ir::OpId state = builder.Add(ir::OpKind::kParameter, {}, attributes, name);
  model = std::move(builder).Build();
  const ir::Op& op = model.op(state);
  return writer.ops().AddValid(ir::OpKind::kParameter, {}, op.attributes, op.name, Span());
}

}  // namespace

// A number, or `dynamic(initial = 65536.0, …)`, whose other arguments are those of the prelude's function.
void LossScale::Read(const SettingText& setting, Evaluator& evaluator) {
  const dsl::syntax::Expression& value = setting.setting.value;
  reporter_.SetContext(setting.context);
  span_ = value.span;
  const auto* call = std::get_if<dsl::syntax::Call>(&value.kind);
  const auto* callee = std::get_if<dsl::syntax::Name>(call != nullptr ? &call->callee->kind : &value.kind);
  if (callee != nullptr && callee->text == "dynamic") {
    ReadDynamic(call != nullptr ? call->arguments : std::vector<dsl::syntax::Argument>(), evaluator);
  } else {
    ReadNumber(value, evaluator);
  }
  const double first = ValueAtStep(first_, 1);
  if (!(first > 0 && first <= kMostScale)) {
    reporter_.Report(Error(Code::kE0508, "`loss_scale` must be positive and finite: gradients are divided by it")
                         .At(value.span, absl::StrCat("this is ", FormatDouble(first))));
  }
  reporter_.SetContext("");
}

void LossScale::ReadNumber(const dsl::syntax::Expression& value, Evaluator& evaluator) {
  const std::optional<double> number = evaluator.EvaluateNumber(value, "`loss_scale`");
  if (!number.has_value() || *number == 1) return;
  first_ = {.formula = ir::NamedNumber(kScale, *number), .name = kScale};
  const std::string otherwise = absl::StrCat("`", kScale, "` must be positive and finite, not {", kScale, "}");
  evaluator.demands().Add(first_.formula > 0, otherwise);
  evaluator.demands().Add(first_.formula <= kMostScale, otherwise);
}

void LossScale::ReadDynamic(const std::vector<dsl::syntax::Argument>& arguments, Evaluator& evaluator) {
  const dsl::syntax::Function& function = *functions_.InPrelude(kDynamicScale)->syntax;
  Signature signature = SignatureOf(function);
  signature.callee = "dynamic";
  signature.arguments.erase(signature.arguments.begin(), signature.arguments.begin() + kTensorsOfScale);
  const auto matched = MatchArguments(signature, arguments, span_, reporter_);
  if (!matched) return;
  is_dynamic_ = true;
  for (size_t i = 0; i < matched->size(); ++i) {
    const dsl::syntax::Parameter& parameter = function.parameters[i + kTensorsOfScale];
    const std::string& name = parameter.name.text;
    if (const auto number = NamedNumber(parameter, (*matched)[i], absl::StrCat(kScale, ".", name), {}, evaluator)) {
      numbers_[name] = *number;
    } else if ((*matched)[i] != nullptr) {
      arguments_.push_back(*(*matched)[i]);
      arguments_.back().name = parameter.name;
    }
  }
  const auto initial = numbers_.find(kInitial);
  if (initial == numbers_.end()) return;
  first_ = ToFormula(initial->second);
  evaluator.demands().Add(first_.formula <= kMostScale, "`initial` must be finite, not {loss_scale.initial}");
  if (first_.is_settled()) return;
  reporter_.Report(Error(Code::kE0508, "`initial` is the scale before the first step")
                       .At((*matched)[0]->value->span, "depends on the step"));
}

bool LossScale::Add(ir::Graph& model, Span place, UpdateWriter& writer) {
  if (!span_.is_somewhere()) span_ = place;
  if (!is_dynamic_ && first_.formula.name().empty()) return true;
  writer.BeginForAll(kScale);
  if (!is_dynamic_) {
    scale_ = writer.ops().AddStepScalar(first_, {.span = {}, .path = kScale});
    return true;
  }
  if (model.is_manual()) {
    reporter_.Report(Error(Code::kE0220, "a dynamic `loss_scale` in a manual model")
                         .At(span_, "would be a state, which a manual model does not have")
                         .Help("a number: `loss_scale = 1024.0`"));
    return false;
  }
  scale_ = AddModelState(model, kScale, first_, writer);
  good_steps_ = AddModelState(model, absl::StrCat(kScale, ".good_steps"), {.formula = ir::Scalar(0)}, writer);
  model.metrics.push_back({kScale, *model.Find(writer.evaluator().graph().op(*scale_).name)});
  return true;
}

bool LossScale::Unscale(std::vector<Trained>& all, UpdateWriter& writer) {
  if (!scale_.has_value()) return true;
  if (is_dynamic_ && !Update(all, writer)) return false;
  for (Trained& trained : all) {
    writer.Begin(trained.parameter);
    trained.gradient = writer.ops().AddValid(ir::OpKind::kDiv, {trained.gradient, *scale_}, {},
                                             absl::StrCat(trained.parameter.name, ".unscaled"), Span());
  }
  return true;
}

bool LossScale::Update(const std::vector<Trained>& all, UpdateWriter& writer) {
  UpdateWriter::PreludeCall call = {.path = kScale, .span = span_};
  not_finite_ = writer.SumOverGradients("not_finite", call, all);
  if (!not_finite_.has_value()) return false;
  call.arguments = arguments_;
  call.named = numbers_;
  std::vector<Value> tensors;
  for (const ir::OpId tensor : {*scale_, *good_steps_, *not_finite_}) tensors.push_back(Value{TensorValue{tensor}});
  const Value after = writer.CallPrelude(kDynamicScale, call, std::move(tensors));
  if (!after.is_tuple()) return false;
  std::vector<ir::StateUpdate>& updates = writer.ops().builder().mutable_graph().updates;
  updates.push_back({.state = *scale_, .value = after.as_tuple()[0].as_tensor()});
  updates.push_back({.state = *good_steps_, .value = after.as_tuple()[1].as_tensor()});
  return true;
}

}  // namespace cleave::frontend
