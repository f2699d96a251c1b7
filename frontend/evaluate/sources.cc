// In this order: what a `param` needs besides its op (the check of its name, its first values), `input`, then `param`
// in a model: a first one makes an op, in a later call of a layer SharedParameter finds that of the first call. Last is
// `state` in an optimizer.
#include "frontend/evaluate/sources.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/pins/attach.h"
#include "frontend/evaluate/pins/block_pins.h"
#include "frontend/evaluate/types/initializer_values.h"
#include "frontend/evaluate/types/types.h"
#include "frontend/initializers/initializers.h"

namespace cleave::frontend {
namespace {

void AttachToSource(const std::vector<dsl::syntax::Attribute>& attributes, ir::OpId source,
                    const IntEvaluator& evaluate, PinRecorder& pins) {
  for (const dsl::syntax::Attribute& attribute : attributes) AddPin(attribute, source, {source}, evaluate, pins);
}

// Names of parameters must be stable, so it is a mistake if another op has the path already.
void CheckParameterName(ir::OpId id, const std::string& path, Span call, const Context& context) {
  if (context.graph().op(id).name == path) return;
  const std::optional<ir::OpId> other = context.graph().Find(path);
  Diagnostic error =
      Error(Code::kE0210, absl::StrCat("the parameter's name `", path, "` is taken")).At(call, "made here");
  if (other)
    error.notes.push_back(absl::StrCat("by the `", ir::OpKindName(context.graph().op(*other).kind), "` of line ",
                                       context.graph().op(*other).line));
  error.help.push_back("rename the `param` or its `let`");
  context.reporter.Report(std::move(error));
}

// The values for a parameter of this shape; nullopt after a mistake.
std::optional<Initialization> InitializationOf(const dsl::syntax::Param& param,
                                               const std::optional<ir::TensorType>& type, Frame& frame,
                                               const Context& context) {
  const Value value = EvaluateInitializer(param.initializer, frame, context);
  if (!value.is_initializer() || !type.has_value()) return std::nullopt;
  const InitializerValue& initializer = value.as_initializer();
  if (initializer.name == kNpyInitializer) return Initialization{.form = kNpyInitializer, .file = initializer.file};
  const Initialization initialization = Initialize(initializer.name, initializer.numbers, type->shape);
  const bool is_whole = initialization.form == "constant" && IsI32(initialization.first);
  if (type->dtype != ir::DType::kI32 || is_whole) return initialization;
  context.reporter.Report(Error(Code::kE0508, "first values that i32 does not have")
                              .At(param.initializer.span, absl::StrCat("`", param.name.text, "` is ", type->ToString()))
                              .Help("`zeros()`, `ones()`, `constant(7)` or `npy(\"FILE.npy\")`"));
  return std::nullopt;
}

}  // namespace

void Sources::RunInput(const dsl::syntax::Input& input, const dsl::syntax::Statement& statement, Frame& frame,
                       PinRecorder& pins, const Context& context) {
  if (frame.function != nullptr || !frame.loop_indices.empty()) {
    context.reporter.Report(Error(Code::kE0211, absl::StrCat("`input` inside a ", frame.function ? "function" : "loop"))
                                .At(input.name.span, "inputs belong in the model itself"));
    return;
  }
  if (!IsFree(input.name, frame.scope, context.reporter)) return;
  Value value{Poison()};
  if (input.name.text == "sample_mask") {
    context.reporter.Report(
        Error(Code::kE0202, "`sample_mask` cannot be the name of an input")
            .At(input.name.span, "rename this input")
            .Note("metrics get an input of this name: 1 for a sample, 0 for padding of the last batch"));
  } else if (const std::optional<ir::TensorType> type = EvaluateTensorType(input.type, frame, context)) {
    ir::Attributes attributes = {{ir::attribute::kDType, type->dtype},
                                 {ir::attribute::kShape, type->shape},
                                 {ir::attribute::kData, input.name.text}};
    if (input.file.has_value()) {
      const std::optional<FileOfInput> file = EvaluateFileOfInput(*input.file, frame, context);
      if (file.has_value()) attributes.Set(ir::attribute::kFile, file->path);
      if (file.has_value() && file->is_per_step) attributes.Set(ir::attribute::kPerStep, true);
      npy_places_[input.name.text] = input.file->span;
    }
    const ir::OpId id = context.ops.AddValid(ir::OpKind::kInput, {}, attributes, input.name.text, statement.span);
    if (!input.file.has_value()) inputs_[id] = input.name.span;
    value = Value{TensorValue{id}};
    AttachToSource(statement.attributes, id, context.IntsOf(frame), pins);
  }
  context.Saw(input.name.span, value);
  frame.scope.Define({input.name.text, input.name.span, BindingKind::kInput, false, false, std::move(value)});
}

bool Sources::IsFirst(const std::string& path, TextTrail trail, Span call, PathNumbers& numbers, Reporter& reporter) {
  const auto [place, inserted] = parameter_places_.try_emplace(path, call);
  if (inserted) {
    trails_.emplace(path, std::move(trail));
    return true;
  }
  if (numbers.Collide(trails_.at(path), trail)) {
    reporter.Mute(true);  // From here on names are not those that the model has in the end.
    return true;
  }
  // If two calls make several parameters with the same paths, that is one mistake.
  if (!same_paths_.insert({place->second.begin, call.begin}).second) return false;
  reporter.Report(Error(Code::kE0210, absl::StrCat("two parameters are called `", path, "`"))
                      .At(call, "made again here")
                      .At(place->second, "first made here")
                      .Note("a parameter's name is the `let` that made it, then its own")
                      .Help("give the two calls a `let` each, with different names"));
  return false;
}

Value Sources::SharedParameter(const dsl::syntax::Param& param, const std::string& path, const ir::TensorType& type,
                               Span first, const Context& context) {
  const std::optional<ir::OpId> found = context.graph().Find(path);
  const ir::Op* const other = found.has_value() ? &context.graph().op(*found) : nullptr;
  const Span call = context.reporter.UserPlace(param.name.span);
  std::string here, there;
  if (other == nullptr || parameters_.count(*found) == 0) {
    if (context.reporter.has_errors()) return Value{Poison()};  // The first call may have stopped before.
    here = "needed here";
    there = "not made by the first call of the layer";
  } else if (other->type != type) {
    here = absl::StrCat("here it would be ", type.ToString());
    there = absl::StrCat("the first call of the layer has made it, ", other->type.ToString());
  } else {
    return Value{TensorValue{*found}};
  }
  // If a call needs several other parameters, that is one mistake.
  if (refused_calls_.insert(call.begin).second) {
    context.reporter.Report(
        Error(Code::kE0217, absl::StrCat("a call of the layer does not fit its parameter `", path, "`"))
            .At(call, std::move(here))
            .At(first, std::move(there))
            .Help("one more layer, `layer …(…)`, has parameters of its own"));
  }
  return Value{Poison()};
}

void Sources::RunParam(const dsl::syntax::Param& param, const dsl::syntax::Statement& statement, Frame& frame,
                       const ManualModel& model, PathNumbers& numbers, PinRecorder& pins, const Context& context) {
  if (!IsFree(param.name, frame.scope, context.reporter)) return;
  Value value{Poison()};
  const std::optional<ir::TensorType> type = EvaluateTensorType(param.type, frame, context);
  const std::optional<Initialization> initialization = InitializationOf(param, type, frame, context);
  const std::string path = frame.ParametersOf(param.name.text);
  const Naming own{
      .path = path, .parameters = path, .stem = JoinPath(frame.parameters, param.name.text), .is_named = true};
  const Span call = context.reporter.UserPlace(param.name.span);
  std::vector<dsl::syntax::Attribute> attributes = statement.attributes;
  const bool is_local = TakeLocal(attributes, model, context.reporter);
  if (param.is_state && context.graph().is_manual()) {
    context.reporter.Report(Error(Code::kE0211, "`state` in a manual model")
                                .At(param.name.span, "what it is after a step could differ between the ranks"));
  }
  if (type && type->dtype != ir::DType::kF32 && !param.is_state) {
    context.reporter.Report(
        Error(Code::kE0204, "a parameter must be f32")
            .At(param.type.element.span, absl::StrCat("`", param.name.text, "` is ", type->ToString()))
            .Note("no gradient reaches whole numbers: a `state` may be i32"));
  } else if (type && frame.layer.has_value() && frame.layer->again) {
    value = SharedParameter(param, path, *type, frame.layer->first, context);
  } else if (type && initialization && IsFirst(path, frame.TrailOf(own), call, numbers, context.reporter)) {
    const auto add = [&] {
      ir::Attributes attributes = {
          {ir::attribute::kShape, type->shape},           {ir::attribute::kInit, initialization->form},
          {ir::attribute::kFirst, initialization->first}, {ir::attribute::kSecond, initialization->second},
          {ir::attribute::kFile, initialization->file},   {ir::attribute::kLocal, is_local},
          {ir::attribute::kTrained, !param.is_state}};
      if (type->dtype != ir::DType::kF32) attributes.Set(ir::attribute::kDType, type->dtype);
      return context.ops.AddValid(ir::OpKind::kParameter, {}, attributes, path, statement.span);
    };
    const auto add_in_layer = [&] {
      const OpWriter::Inside inside = context.ops.EnterAs(frame.layer->made_in);
      return add();
    };
    const ir::OpId id = frame.layer.has_value() ? add_in_layer() : add();
    parameters_[id] = call;
    if (!initialization->file.empty()) {
      npy_places_[path] = context.reporter.UserPlace(param.initializer.span);
    }
    if (is_local) context.ops.KeepRankPlace(id, call);
    value = Value{TensorValue{id}};
    CheckParameterName(id, path, call, context);
    AttachToSource(attributes, id, context.IntsOf(frame), pins);
    PinParameter(param.name.text, id, frame.demands, pins);
  }
  const BindingKind kind = param.is_state ? BindingKind::kState : BindingKind::kParameter;
  context.Saw(param.name.span, value);
  frame.scope.Define({param.name.text, param.name.span, kind, false, false, std::move(value)});
}

void Sources::RunSlot(const dsl::syntax::Param& state, const dsl::syntax::Statement& statement, Frame& frame,
                      const OptimizedParameter& parameter, const Context& context) {
  if (!IsFree(state.name, frame.scope, context.reporter)) return;
  const std::string& name = state.name.text;
  if (!state.is_state) {
    context.reporter.Report(Error(Code::kE0211, "`param` inside an optimizer")
                                .At(state.name.span, "no loss depends on it")
                                .Help("what is kept from step to step is a `state`"));
  }
  for (const dsl::syntax::Attribute& attribute : statement.attributes) {
    context.reporter.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` has no meaning here"))
                                .At(attribute.span, "a state lies as the parameter does"));
  }
  const std::optional<ir::TensorType> type = EvaluateTensorType(state.type, frame, context);
  const std::optional<Initialization> initialization = InitializationOf(state, type, frame, context);
  Value value{Poison()};
  // Whichever functions the optimizer calls, its states belong to the parameter.
  const std::string path = JoinPath(parameter.name, name);
  if (type && initialization && (initialization->form != "constant" || initialization->first != 0)) {
    context.reporter.Report(Error(Code::kE0518, absl::StrCat("state `", name, "` of an optimizer begins with zeros"))
                                .At(state.initializer.span, "with other values here")
                                .Help("`= zeros()`"));
  } else if (type && type->dtype != ir::DType::kF32) {
    context.reporter.Report(Error(Code::kE0204, "a state of an optimizer must be f32")
                                .At(state.type.element.span, absl::StrCat("`", name, "` is ", type->ToString())));
  } else if (const auto [place, is_first] = parameter_places_.try_emplace(path, state.name.span); !is_first) {
    context.reporter.Report(Error(Code::kE0210, absl::StrCat("two states of an optimizer are called `", name, "`"))
                                .At(state.name.span, "made again here")
                                .At(place->second, "first made here")
                                .Help("a function that declares a state can be called once"));
  } else if (type && initialization && state.is_state) {
    value = Value{TensorValue{context.ops.AddValid(
        ir::OpKind::kState, {}, {{ir::attribute::kShape, type->shape}, {ir::attribute::kLocal, parameter.is_local}},
        path, statement.span)}};
  }
  context.Saw(state.name.span, value);
  frame.scope.Define({name, state.name.span, BindingKind::kState, false, false, std::move(value)});
}

}  // namespace cleave::frontend
