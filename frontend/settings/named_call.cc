#include "frontend/settings/named_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::frontend {

std::optional<NamedCall> ReadCall(const dsl::syntax::Expression& value, const std::string& what,
                                  const std::vector<Signature>& signatures, Reporter& reporter) {
  const auto* call = std::get_if<dsl::syntax::Call>(&value.kind);
  const dsl::syntax::Expression& callee = call ? *call->callee : value;
  const auto* name = std::get_if<dsl::syntax::Name>(&callee.kind);
  std::vector<std::string> names;
  for (const Signature& signature : signatures) {
    names.push_back(signature.callee);
    if (name == nullptr || name->text != signature.callee) continue;
    if (call == nullptr) {
      reporter.Report(Error(Code::kE0508, absl::StrCat("`", name->text, "` is to be called"))
                          .At(value.span, "without its arguments")
                          .Help(absl::StrCat("`", signature.ToString(), "`")));
      return std::nullopt;
    }
    auto matched = MatchArguments(signature, call->arguments, value.span, reporter);
    if (!matched) return std::nullopt;
    return NamedCall{name->text, *std::move(matched)};
  }
  Diagnostic error = Error(Code::kE0508, absl::StrCat("unknown ", what))
                         .At(callee.span, absl::StrCat("expected ", QuotedList(names, "or")));
  if (name != nullptr) {
    error.message = absl::StrCat("unknown ", what, " `", name->text, "`");
    if (auto nearest = NearestName(name->text, names))
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter.Report(std::move(error));
  return std::nullopt;
}

}  // namespace cleave::frontend
