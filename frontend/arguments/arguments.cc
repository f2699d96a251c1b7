#include "frontend/arguments/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

// Reports the mistake and shows the signature: at its definition where the user has written it, else as a note.
void ReportWithSignature(const Signature& signature, Diagnostic diagnostic, Reporter& reporter) {
  if (signature.definition && reporter.IsUserPlace(*signature.definition)) {
    diagnostic.labels.push_back({*signature.definition, "defined here"});
  }
  diagnostic.notes.push_back(absl::StrCat("the signature is `", signature.ToString(), "`"));
  if (!signature.note.empty()) diagnostic.notes.push_back(signature.note);
  reporter.Report(std::move(diagnostic));
}

std::string CountText(const Signature& signature, size_t required) {
  const size_t total = signature.arguments.size();
  const std::string most = Plural(static_cast<int64_t>(total), signature.what);
  return required == total ? most : absl::StrCat(required, " to ", most);
}

}  // namespace

std::string Signature::ToString() const {
  return absl::StrCat(
      callee, "(",
      absl::StrJoin(arguments, ", ",
                    [](std::string* out, const FormalArgument& argument) { absl::StrAppend(out, argument.text); }),
      ")", result);
}

std::optional<std::vector<const dsl::syntax::Argument*>> MatchArguments(const Signature& signature,
                                                                        absl::Span<const dsl::syntax::Argument> given,
                                                                        Span call, Reporter& reporter) {
  const std::vector<FormalArgument>& formals = signature.arguments;
  std::vector<const dsl::syntax::Argument*> matched(formals.size(), nullptr);
  std::vector<std::string> names;
  for (const FormalArgument& formal : formals) names.push_back(formal.name);

  bool ok = true;
  bool named_seen = false;
  size_t position = 0;
  for (const dsl::syntax::Argument& argument : given) {
    size_t index = position;
    if (argument.name) {
      named_seen = true;
      index = static_cast<size_t>(std::find(names.begin(), names.end(), argument.name->text) - names.begin());
      if (index == names.size()) {
        Diagnostic error = Error(Code::kE0203, absl::StrCat("`", signature.callee, "` has no ", signature.what, " `",
                                                            argument.name->text, "`"))
                               .At(argument.name->span, absl::StrCat("no such ", signature.what));
        const auto renamed = std::find_if(formals.begin(), formals.end(), [&](const FormalArgument& formal) {
          return formal.former_name == argument.name->text;
        });
        if (renamed != formals.end()) {
          error.help.push_back(renamed->by_name);
        } else if (auto nearest = NearestName(argument.name->text, names)) {
          error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
        }
        ReportWithSignature(signature, std::move(error), reporter);
        ok = false;
        continue;
      }
    } else if (named_seen) {
      ReportWithSignature(signature,
                          Error(Code::kE0203, absl::StrCat(signature.what == "argument" ? "an argument" : "a field",
                                                           " by position after one by name"))
                              .At(argument.span, absl::StrCat(signature.what, "s by position come first")),
                          reporter);
      ok = false;
      continue;
    } else {
      ++position;
      if (index >= formals.size()) continue;  // It is counted below, or taken by the last argument.
      if (!formals[index].by_name.empty()) {
        ReportWithSignature(signature,
                            Error(Code::kE0203, absl::StrCat(signature.what, " `", names[index], "` of `",
                                                             signature.callee, "` by position"))
                                .At(argument.span, "is given by name only")
                                .Help(formals[index].by_name),
                            reporter);
        ok = false;
        continue;
      }
    }
    if (matched[index] != nullptr) {
      ReportWithSignature(signature,
                          Error(Code::kE0203, absl::StrCat(signature.what, " `", names[index], "` of `",
                                                           signature.callee, "` is given twice"))
                              .At(argument.span, "given again here")
                              .At(matched[index]->span, "first given here"),
                          reporter);
      ok = false;
      continue;
    }
    matched[index] = &argument;
  }

  const auto required = static_cast<size_t>(
      std::count_if(formals.begin(), formals.end(), [](const FormalArgument& formal) { return formal.required; }));
  if (position > formals.size() && !signature.has_rest) {
    const size_t first_extra = formals.size();
    ReportWithSignature(signature,
                        Error(Code::kE0203, absl::StrCat("`", signature.callee, "` takes ",
                                                         CountText(signature, required), ", not ", given.size()))
                            .At(given[first_extra].span, "one too many"),
                        reporter);
    return std::nullopt;
  }
  if (!ok) return std::nullopt;

  std::vector<std::string> missing;
  for (size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].required && matched[i] == nullptr) missing.push_back(names[i]);
  }
  if (!missing.empty()) {
    // As many as it takes may be there, and still not those that it needs.
    const std::string wrong = given.size() < required
                                  ? absl::StrCat("takes ", CountText(signature, required), ", not ", given.size())
                                  : absl::StrCat("needs ", QuotedList(missing, "and"));
    ReportWithSignature(
        signature,
        Error(Code::kE0203, absl::StrCat("`", signature.callee, "` ", wrong))
            .At(call, absl::StrCat(QuotedList(missing, "and"), missing.size() == 1 ? " is missing" : " are missing")),
        reporter);
    return std::nullopt;
  }
  return matched;
}

FormalArgument FormalOf(const dsl::syntax::Parameter& parameter) {
  std::string text = absl::StrCat(parameter.name.text, ": ", TypeText(parameter.type));
  if (parameter.default_value) absl::StrAppend(&text, " = ", ExpressionText(*parameter.default_value));
  return {parameter.name.text, std::move(text), !parameter.default_value.has_value()};
}

Signature SignatureOf(const dsl::syntax::Function& function) {
  Signature signature{.callee = function.name.text, .definition = function.name.span};
  for (const dsl::syntax::Parameter& parameter : function.parameters) {
    signature.arguments.push_back(FormalOf(parameter));
  }
  if (!function.results.empty()) signature.result = absl::StrCat(" -> ", TypesText(function.results));
  return signature;
}

}  // namespace cleave::frontend
