#include "frontend/evaluate/types/initializer_values.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/initializers/initializers.h"

namespace cleave::frontend {
namespace {

// The path that `npy` is given; nullopt after a mistake.
std::optional<std::string> EvaluatePath(const dsl::syntax::Argument& argument, Frame& frame, const Context& context) {
  const Value value = context.Evaluate(*argument.value, frame);
  if (value.is_poison()) return std::nullopt;
  const auto* path = std::get_if<std::string>(&value.kind);
  if (path != nullptr && !path->empty()) return *path;
  context.reporter.Report(
      Error(Code::kE0508, "the path of `npy` is a string that is not empty")
          .At(argument.span, absl::StrCat("this is ", path ? "empty" : DescribeType(value, context.graph()))));
  return std::nullopt;
}

// What is neither a call of an initialiser nor an argument that is one.
void ReportNoInitializer(const dsl::syntax::Expression& expression, const dsl::syntax::Call* call,
                         const dsl::syntax::Name* name, bool is_known, Reporter& reporter) {
  Diagnostic error = Error(Code::kE0201, name ? absl::StrCat("unknown initialiser `", name->text, "`")
                                              : "a parameter needs an initialiser")
                         .At(call ? call->callee->span : expression.span,
                             absl::StrCat("expected ", QuotedList(InitializerNames(), "or")));
  if (is_known) {
    error.message = absl::StrCat("`", name->text, "` is an initialiser, to be called");
    error.labels.front().text = absl::StrCat("write `", name->text, "()`");
  } else if (auto nearest = name ? NearestName(name->text, InitializerNames()) : std::nullopt) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter.Report(std::move(error));
}

}  // namespace

Value EvaluateInitializer(const dsl::syntax::Expression& expression, Frame& frame, const Context& context) {
  const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind);
  const auto* name =
      call ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : std::get_if<dsl::syntax::Name>(&expression.kind);
  if (call == nullptr && name != nullptr) {
    Binding* const binding = frame.scope.Find(name->text);
    if (binding != nullptr && (binding->value.is_initializer() || binding->value.is_poison())) {
      binding->used = true;
      return binding->value;
    }
  }
  if (std::holds_alternative<dsl::syntax::Field>(expression.kind)) {
    Value value = context.Evaluate(expression, frame);
    if (value.is_initializer() || value.is_poison()) return value;
  }
  const std::optional<Signature> signature = name ? InitializerSignature(name->text) : std::nullopt;
  if (!signature || call == nullptr) {
    ReportNoInitializer(expression, call, name, signature.has_value(), context.reporter);
    return Value{Poison()};
  }
  const auto matched = MatchArguments(*signature, call->arguments, expression.span, context.reporter);
  if (!matched) return Value{Poison()};
  if (name->text == kNpyInitializer) {
    std::optional<std::string> path = EvaluatePath(*matched->front(), frame, context);
    if (!path.has_value()) return Value{Poison()};
    return Value{InitializerValue{kNpyInitializer, {}, *std::move(path)}};
  }
  InitializerValue initializer{.name = name->text, .numbers = {}};
  for (const dsl::syntax::Argument* argument : *matched) {
    initializer.numbers.emplace_back();
    if (argument == nullptr) continue;
    const Value value = context.Evaluate(*argument->value, frame);
    if (value.is_poison()) return value;
    if (!value.is_number()) {
      context.reporter.Report(Error(Code::kE0204, absl::StrCat("the arguments of `", name->text, "` are numbers"))
                                  .At(argument->span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
      return Value{Poison()};
    }
    initializer.numbers.back() = value.as_number();
  }
  if (const auto mistake = CheckNumbers(initializer.name, initializer.numbers)) {
    context.reporter.Report(Error(Code::kE0508, mistake->message)
                                .At((*matched)[static_cast<size_t>(mistake->argument)]->span, "given here"));
    return Value{Poison()};
  }
  return Value{std::move(initializer)};
}

std::optional<FileOfInput> EvaluateFileOfInput(const dsl::syntax::Expression& expression, Frame& frame,
                                               const Context& context) {
  const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind);
  const auto* name = call ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : nullptr;
  if (name == nullptr || name->text != kNpyInitializer) {
    context.reporter.Report(Error(Code::kE0508, "an input that has no batch is read from a file")
                                .At(expression.span, "expected `npy(\"FILE.npy\")`")
                                .Note("an input that has one is read from the `data` of `train`"));
    return std::nullopt;
  }
  static const Signature kSignature{
      .callee = kNpyInitializer,
      .arguments = {{"path", "path: string", true}, {"per_step", "per_step: bool = false", false}}};
  const auto matched = MatchArguments(kSignature, call->arguments, expression.span, context.reporter);
  if (!matched) return std::nullopt;
  std::optional<std::string> path = EvaluatePath(*matched->front(), frame, context);
  if (!path.has_value()) return std::nullopt;
  FileOfInput file = {.path = *std::move(path)};
  if (const dsl::syntax::Argument* const argument = matched->back(); argument != nullptr) {
    const Value value = context.Evaluate(*argument->value, frame);
    if (value.is_poison()) return std::nullopt;
    const bool* const is_per_step = std::get_if<bool>(&value.kind);
    if (is_per_step == nullptr) {
      context.reporter.Report(Error(Code::kE0204, "`per_step` is `true` or `false`")
                                  .At(argument->span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
      return std::nullopt;
    }
    file.is_per_step = *is_per_step;
  }
  return file;
}

}  // namespace cleave::frontend
