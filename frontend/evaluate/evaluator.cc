#include "frontend/evaluate/evaluator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/expressions.h"
#include "frontend/evaluate/function_call.h"
#include "frontend/evaluate/pins/attach.h"
#include "frontend/evaluate/statements.h"

namespace cleave::frontend {

void Evaluator::Begin() {
  std::vector<Callee> callees;
  if (pieces_.has_value()) callees = std::move(pieces_->layers).TakeCallees();
  pieces_.emplace(functions_, custom_ops_, numbers_, reporter_, sightings_, static_cast<Interpreter&>(*this));
  pieces_->layers = Layers(std::move(callees));
}

void Evaluator::DefineArgument(const dsl::syntax::Identifier& name, Value value) {
  pieces_->context.Saw(name.span, value);
  arguments_.scope.Define({name.text, name.span, BindingKind::kArgument, false, false, std::move(value)});
}

void Evaluator::SetModel(const dsl::syntax::Model& model, std::optional<Span> attribute) {
  pieces_->model = {.name = model.name.span, .attribute = attribute};
}

void Evaluator::SetRanks(std::vector<ir::RankAxis> axes) {
  pieces_->ops.builder().mutable_graph().rank_axes = std::move(axes);
}

void Evaluator::SetGenerates() { pieces_->generates = true; }

void Evaluator::RunModel(const dsl::syntax::Model& model, const std::vector<std::string>& outputs) {
  RunOnce(model, outputs);
  reporter_.Mute(false);
  while (!reporter_.has_errors() && numbers_.Settle(graph())) {
    const ManualModel manual = pieces_->model;
    const bool generates = pieces_->generates;
    std::vector<ir::RankAxis> axes = graph().rank_axes;
    Begin();
    pieces_->model = manual;
    pieces_->generates = generates;
    SetRanks(std::move(axes));
    RunOnce(model, outputs);
    reporter_.Mute(false);
  }
}

void Evaluator::RunOnce(const dsl::syntax::Model& model, const std::vector<std::string>& outputs) {
  if (sightings_ != nullptr) sightings_->ForgetOps();
  Frame frame;
  frame.id = numbers_.NewFrame();
  frame.scope = arguments_.scope;
  frame.scope.Push();
  Run(model.body, frame);
  for (const std::string& name : outputs) {
    Binding* const binding = frame.scope.Find(name);
    if (binding == nullptr || !binding->value.is_tensor()) continue;
    binding->used = true;
    pieces_->ops.AddLook(ir::LookKind::kOutput, binding->value.as_tensor(), name, binding->definition);
  }
  pieces_->loss_and_metrics.AddUpLosses(pieces_->context);
  WarnOfUnused(frame.scope.Pop(), pieces_->reporter);
  if (!pieces_->reporter.has_errors()) pieces_->messages.ReportUnreceived(pieces_->reporter);
  if (!pieces_->loss_and_metrics.loss_place() && !pieces_->budget.is_exhausted()) {
    pieces_->reporter.Report(Error(Code::kE0503, absl::StrCat("model `", model.name.text, "` has no loss"))
                                 .At(model.name.span, "nothing to train")
                                 .Help("add one: `loss cross_entropy(logits, label);`"));
  }
}

Value Evaluator::EvaluateWith(const Value& record, absl::Span<const dsl::syntax::Identifier> path,
                              const dsl::syntax::Expression& value) {
  // A name with a space is no name of the language, so it hides none.
  static constexpr char kRecord[] = "the record";
  Frame frame;
  frame.scope = arguments_.scope;
  frame.scope.Push();
  frame.scope.Define({kRecord, value.span, BindingKind::kArgument, false, true, record});
  const auto expression = [&](dsl::syntax::Expression::Kind kind) {
    return dsl::syntax::Expression{.span = value.span, .kind = std::move(kind)};
  };
  // Of `c.a.b = v`: `c with (a = c.a with (b = v))`.
  std::vector<dsl::syntax::Expression> bases = {expression(dsl::syntax::Name{kRecord})};
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    bases.push_back(expression(dsl::syntax::Field{.base = bases.back(), .name = path[i]}));
  }
  dsl::syntax::Expression changed = value;
  for (size_t i = path.size(); i-- > 0;) {
    changed = expression(dsl::syntax::With{
        .base = bases[i], .fields = {{.span = value.span, .name = path[i], .value = std::move(changed)}}});
  }
  return pieces_->context.EvaluateStatic(changed, frame);
}

Value Evaluator::EvaluateStatic(const dsl::syntax::Expression& expression) {
  return pieces_->context.EvaluateStatic(expression, arguments_);
}

std::optional<int64_t> Evaluator::EvaluateInt(const dsl::syntax::Expression& expression, const std::string& what) {
  return pieces_->context.EvaluateInt(expression, what, arguments_);
}

std::optional<double> Evaluator::EvaluateNumber(const dsl::syntax::Expression& expression, const std::string& what) {
  return pieces_->context.EvaluateNumber(expression, what, arguments_);
}

Evaluator::Trained Evaluator::AddTrained(const ir::Op& parameter) {
  OpWriter& ops = pieces_->ops;
  ops.builder().SetPhase(ir::Phase::kUpdate);
  const ir::OpId own = ops.AddValid(ir::OpKind::kParameter, {}, parameter.attributes, parameter.name, Span());
  const ir::OpId gradient = ops.AddValid(
      ir::OpKind::kInput, {}, {{ir::attribute::kShape, parameter.type.shape}, {ir::attribute::kData, parameter.name}},
      absl::StrCat(parameter.name, ".grad"), Span());
  return {.parameter = own, .gradient = gradient};
}

bool Evaluator::has_demands() {
  return !pieces_->pins.pins().empty() || !pieces_->pins.priorities().empty() || !pieces_->regions.regions().empty() ||
         !pieces_->pins.retentions().empty() || pieces_->pins.has_stages();
}

Value Evaluator::EvaluateInStep(const dsl::syntax::Expression& expression, const std::map<std::string, Value>& names) {
  pieces_->optimizing.emplace();
  Frame frame;
  frame.scope = arguments_.scope;
  frame.scope.Push();
  for (const auto& [name, value] : names) {
    frame.scope.Define({name, expression.span, BindingKind::kArgument, false, true, value});
  }
  return pieces_->context.EvaluateStatic(expression, frame);
}

Value Evaluator::Call(const dsl::syntax::Call& call, Span span, const CallWith& with) {
  Frame frame;
  frame.scope = arguments_.scope;
  frame.scope.Push();
  frame.path = with.path;
  frame.parameters = with.path;
  frame.naming.path = with.path;
  frame.naming.parameters = with.path;
  // Names with a space are no names of the language, so they hide none.
  const auto argument_for = [&](const std::string& name, const Value& value) {
    const std::string hidden = absl::StrCat("the ", name);
    frame.scope.Define({hidden, span, BindingKind::kArgument, false, true, value});
    return dsl::syntax::Argument{
        .span = span,
        .name = std::nullopt,
        .value = dsl::syntax::Box<dsl::syntax::Expression>({.span = span, .kind = dsl::syntax::Name{hidden}})};
  };
  dsl::syntax::Call all{.callee = call.callee, .arguments = {}};
  for (size_t i = 0; i < with.first.size(); ++i) {
    const std::string name = i == 0 ? "parameter" : i == 1 ? "gradient" : absl::StrCat("tensor ", i);
    all.arguments.push_back(argument_for(name, with.first[i]));
  }
  for (const dsl::syntax::Argument& argument : call.arguments) {
    if (!argument.name || with.named.count(argument.name->text) == 0) all.arguments.push_back(argument);
  }
  for (const auto& [name, value] : with.named) {
    all.arguments.push_back(argument_for(name, value));
    all.arguments.back().name = dsl::syntax::Identifier{span, name};
  }
  pieces_->optimizing = OptimizedParameter{.name = with.path, .is_local = with.is_local, .step = with.step};
  return CallFunction(*with.function, {all, span, frame}, *pieces_);
}

void Evaluator::AddPin(const dsl::syntax::Attribute& attribute, ir::OpId op) {
  frontend::AddPin(attribute, op, {op}, pieces_->context.IntsOf(arguments_), pieces_->pins);
}

void Evaluator::PassOverParametersOfRegions() { pieces_->regions.PassOverParameters(); }
void Evaluator::FinishRegions(const ir::ParallelSettings& settings) { pieces_->regions.Finish(settings); }

Expansion Evaluator::Finish() && {
  std::vector<ir::RetentionPin> retentions =
      pieces_->pins.retentions().Resolve(pieces_->ops.graph(), pieces_->reporter);
  return {.graph = std::move(pieces_->ops.builder()).Build(),
          .pins = pieces_->pins.pins(),
          .default_pins = pieces_->pins.Defaults(),
          .priorities = pieces_->pins.priorities(),
          .regions = pieces_->regions.regions(),
          .retentions = std::move(retentions),
          .stages = pieces_->pins.Stages(),
          .inputs = pieces_->sources.inputs(),
          .parameters = pieces_->sources.parameters(),
          .npy_places = pieces_->sources.npy_places(),
          .custom_calls = pieces_->custom_calls.calls(),
          .rank_places = pieces_->ops.rank_places(),
          .loss = pieces_->loss_and_metrics.loss_place(),
          .trainers = pieces_->loss_and_metrics.trainers(),
          .metrics = pieces_->loss_and_metrics.metrics(),
          .looks_by_name = pieces_->ops.looks_by_name()};
}

Value Evaluator::Evaluate(const dsl::syntax::Expression& expression, Frame& frame) {
  return EvaluateExpression(expression, frame, *pieces_);
}

void Evaluator::Run(const std::vector<dsl::syntax::Statement>& body, Frame& frame) {
  RunStatements(body, frame, *pieces_);
}

}  // namespace cleave::frontend
