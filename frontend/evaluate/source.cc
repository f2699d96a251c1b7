// Inputs and parameters.
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {

void Evaluator::RunInput(const syntax::Input& input, const syntax::Statement& statement, Frame& frame) {
  if (frame.function != nullptr || !frame.loop_indices.empty()) {
    reporter_.Report(Error(Code::kE0211, absl::StrCat("`input` inside a ", frame.function ? "function" : "loop"))
                         .At(input.name.span, "inputs stand in the model itself"));
    return;
  }
  if (!IsFree(input.name, frame)) return;
  Value value{Poison()};
  if (input.name.text == "sample_mask") {
    reporter_.Report(
        Error(Code::kE0202, "`sample_mask` cannot be the name of an input")
            .At(input.name.span, "rename this input")
            .Note("metrics get an input of this name: 1 for a sample, 0 for what fills up the last batch"));
  } else if (const std::optional<TensorType> type = EvaluateTensorType(input.type, frame)) {
    builder_.SetLine(reporter_.ModelLine(statement.span));
    const OpId id = builder_.Add(
        OpKind::kInput, {},
        {{attribute::kDType, type->dtype}, {attribute::kShape, type->shape}, {attribute::kData, input.name.text}},
        input.name.text);
    expansion_.inputs[id] = input.name.span;
    value = Value{TensorValue{id}};
    AttachToSource(statement.attributes, id, frame);
  }
  frame.scope.Define({input.name.text, input.name.span, BindingKind::kInput, false, false, std::move(value)});
}

void Evaluator::RunParam(const syntax::Param& param, const syntax::Statement& statement, Frame& frame) {
  if (!IsFree(param.name, frame)) return;
  Value value{Poison()};
  const std::optional<TensorType> type = EvaluateTensorType(param.type, frame);
  const std::optional<Initialization> initialization =
      EvaluateInitializer(param.initializer, type ? type->shape : Shape(), frame);
  const std::string path = frame.PathOf(param.name.text);
  const Span call = reporter_.UserPlace(param.name.span);
  std::vector<syntax::Attribute> attributes = statement.attributes;
  const bool is_local = TakeLocal(attributes);
  if (type && type->dtype != DType::kF32) {
    reporter_.Report(Error(Code::kE0204, "a parameter must be f32")
                         .At(param.type.element.span, absl::StrCat("`", param.name.text, "` is ", type->ToString())));
  } else if (type && initialization) {
    auto [place, inserted] = parameter_places_.try_emplace(path, call);
    if (!inserted && !same_paths_.insert({place->second.begin, call.begin}).second) {
      // Told for the first parameter of these two calls.
    } else if (!inserted) {
      reporter_.Report(Error(Code::kE0210, absl::StrCat("two parameters are called `", path, "`"))
                           .At(call, "made again here")
                           .At(place->second, "first made here")
                           .Note("a parameter's name is the `let` that made it, then its own")
                           .Help("give the two calls a `let` each, with different names"));
    } else {
      builder_.SetLine(reporter_.ModelLine(statement.span));
      const OpId id = builder_.Add(OpKind::kParameter, {},
                                   {{attribute::kShape, type->shape},
                                    {attribute::kInit, initialization->form},
                                    {attribute::kFirst, initialization->first},
                                    {attribute::kSecond, initialization->second},
                                    {attribute::kFile, initialization->file},
                                    {attribute::kLocal, is_local}},
                                   path);
      expansion_.parameters[id] = call;
      if (!initialization->file.empty()) {
        expansion_.npy_places[path] = reporter_.UserPlace(param.initializer.span);
      }
      if (is_local) expansion_.rank_places[id] = call;
      value = Value{TensorValue{id}};
      CheckParameterName(id, path, call);
      AttachToSource(attributes, id, frame);
      PinParameter(param.name.text, id, frame);
    }
  }
  frame.scope.Define({param.name.text, param.name.span, BindingKind::kParameter, false, false, std::move(value)});
}

// Names of parameters are stable, so another op must not have taken the path before.
void Evaluator::CheckParameterName(OpId id, const std::string& path, Span call) {
  if (graph().op(id).name == path) return;
  const std::optional<OpId> other = graph().Find(path);
  Diagnostic error =
      Error(Code::kE0210, absl::StrCat("the parameter's name `", path, "` is taken")).At(call, "made here");
  if (other)
    error.notes.push_back(
        absl::StrCat("by the `", OpKindName(graph().op(*other).kind), "` of line ", graph().op(*other).line));
  error.help.push_back("rename the `param` or its `let`");
  reporter_.Report(std::move(error));
}

std::optional<Initialization> Evaluator::EvaluateNpy(const syntax::Argument& argument, Frame& frame) {
  const Value value = Evaluate(*argument.value, frame);
  if (value.is_poison()) return std::nullopt;
  const auto* path = std::get_if<std::string>(&value.kind);
  if (path != nullptr && !path->empty()) return Initialization{.form = kNpyInitializer, .file = *path};
  reporter_.Report(Error(Code::kE0508, "the path of `npy` is a string that is not empty")
                       .At(argument.span, absl::StrCat("this is ", path ? "empty" : DescribeType(value, graph()))));
  return std::nullopt;
}

std::optional<Initialization> Evaluator::EvaluateInitializer(const syntax::Expression& expression, const Shape& shape,
                                                             Frame& frame) {
  const auto* call = std::get_if<syntax::Call>(&expression.kind);
  const auto* name =
      call ? std::get_if<syntax::Name>(&call->callee->kind) : std::get_if<syntax::Name>(&expression.kind);
  const std::optional<Signature> signature = name ? InitializerSignature(name->text) : std::nullopt;
  if (!signature || call == nullptr) {
    Diagnostic error = Error(Code::kE0201, name ? absl::StrCat("unknown initialiser `", name->text, "`")
                                                : "a parameter needs an initialiser")
                           .At(call ? call->callee->span : expression.span,
                               absl::StrCat("expected ", QuotedList(InitializerNames(), "or")));
    if (signature) {
      error.message = absl::StrCat("`", name->text, "` is an initialiser, to be called");
      error.labels.front().text = absl::StrCat("write `", name->text, "()`");
    } else if (auto nearest = name ? NearestName(name->text, InitializerNames()) : std::nullopt) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    }
    reporter_.Report(std::move(error));
    return std::nullopt;
  }
  const auto matched = MatchArguments(*signature, call->arguments, expression.span, reporter_);
  if (!matched) return std::nullopt;
  if (name->text == kNpyInitializer) return EvaluateNpy(*matched->front(), frame);
  std::vector<std::optional<double>> numbers;
  for (const syntax::Argument* argument : *matched) {
    numbers.emplace_back();
    if (argument == nullptr) continue;
    const Value value = Evaluate(*argument->value, frame);
    if (value.is_poison()) return std::nullopt;
    if (!value.is_number()) {
      reporter_.Report(Error(Code::kE0204, absl::StrCat("the arguments of `", name->text, "` are numbers"))
                           .At(argument->span, absl::StrCat("this is ", DescribeType(value, graph()))));
      return std::nullopt;
    }
    numbers.back() = value.as_number();
  }
  const auto result = Initialize(name->text, numbers, shape);
  if (const auto* error = std::get_if<InitializerError>(&result)) {
    reporter_.Report(
        Error(Code::kE0508, error->message).At((*matched)[static_cast<size_t>(error->argument)]->span, "given here"));
    return std::nullopt;
  }
  return std::get<Initialization>(result);
}

}  // namespace cleave::frontend
