#include "frontend/evaluate/frame/frame.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {
namespace {

NameVisitor MarkIn(Scope& scope) {
  return [&scope](const std::string& name) {
    if (Binding* binding = scope.Find(name)) binding->used = true;
  };
}

}  // namespace

std::string Frame::PathOf(const std::string& name) const {
  std::string result = path;
  if (!name.empty()) absl::StrAppend(&result, result.empty() ? "" : ".", name);
  for (int64_t index : loop_indices) absl::StrAppend(&result, result.empty() ? "" : ".", index);
  return result;
}

std::string Frame::SharedPathOf(std::string parameter) const {
  for (auto sharing = sharings.rbegin(); sharing != sharings.rend(); ++sharing) {
    if (absl::StartsWith(parameter, absl::StrCat(sharing->from, ".")))
      parameter = sharing->to + parameter.substr(sharing->from.size());
  }
  return parameter;
}

void MarkUsed(const dsl::syntax::Expression& skipped, Scope& scope) { ForEachName(skipped, MarkIn(scope)); }

void MarkUsed(absl::Span<const dsl::syntax::Statement> skipped, Scope& scope) { ForEachName(skipped, MarkIn(scope)); }

bool IsFree(const dsl::syntax::Identifier& name, const Scope& scope, Reporter& reporter) {
  const Binding* other = scope.FindInBlock(name.text);
  if (other == nullptr) return true;
  Diagnostic error = Error(Code::kE0202, absl::StrCat("`", name.text, "` is defined twice"))
                         .At(name.span, "defined again here")
                         .At(other->definition, "first defined here");
  if (other->kind == BindingKind::kLet) {
    error.help.push_back(
        absl::StrCat("to change a value: `let mut ", name.text, " = …;`, then `", name.text, " = …;`"));
  }
  reporter.Report(std::move(error));
  return false;
}

}  // namespace cleave::frontend
