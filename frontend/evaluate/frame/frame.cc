#include "frontend/evaluate/frame/frame.h"

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

void Naming::AddOrdinal(const std::string& callee, Naming& to) {
  const std::string component = absl::StrCat(callee, "_", next_ordinal[callee]++);
  for (std::string* each : {&to.path, &to.parameters}) absl::StrAppend(each, each->empty() ? "" : ".", component);
}

TextTrail Frame::TrailOf(const Naming& naming) const {
  TextTrail result = trail;
  result.push_back(
      {.frame = id, .place = place, .statement = statement, .stem = naming.stem, .is_named = naming.is_named});
  return result;
}

std::string Frame::Extended(const std::string& base, const std::string& name) const {
  std::string result = base;
  if (!name.empty()) absl::StrAppend(&result, result.empty() ? "" : ".", name);
  if (!name.empty() && number > 0) absl::StrAppend(&result, "_", number);
  for (int64_t index : loop_indices) absl::StrAppend(&result, result.empty() ? "" : ".", index);
  return result;
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
