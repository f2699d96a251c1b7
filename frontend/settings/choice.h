// A setting whose value is one of a few words. Inside of frontend/settings only.
#ifndef CLEAVE_FRONTEND_SETTINGS_CHOICE_H_
#define CLEAVE_FRONTEND_SETTINGS_CHOICE_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"

namespace cleave::frontend {

// A word that a setting takes.
template <typename T>
struct Choice {
  const char* name;
  T value;
};

// Reports anything but one of the words, and leaves `result` as it is.
template <typename T>
void ReadChoice(Reporter& reporter, const std::string& setting, const dsl::syntax::Expression& value, T& result,
                const std::vector<Choice<T>>& choices) {
  const auto* name = std::get_if<dsl::syntax::Name>(&value.kind);
  std::vector<std::string> all;
  for (const Choice<T>& choice : choices) {
    all.push_back(choice.name);
    if (name == nullptr || name->text != choice.name) continue;
    result = choice.value;
    return;
  }
  Diagnostic error = Error(Code::kE0508, absl::StrCat("`", setting, "` takes ", QuotedList(all, "or")))
                         .At(value.span, "not one of them");
  if (name != nullptr) {
    if (auto nearest = NearestName(name->text, all))
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter.Report(std::move(error));
}

// Reports anything but `true` or `false`, which may be computed, and leaves `result` as it is.
inline void ReadBool(Evaluator& evaluator, Reporter& reporter, const std::string& setting,
                     const dsl::syntax::Expression& expression, bool& result) {
  const Value value = evaluator.EvaluateStatic(expression);
  if (std::holds_alternative<bool>(value.kind)) {
    result = std::get<bool>(value.kind);
  } else if (!value.is_poison()) {
    reporter.Report(Error(Code::kE0508, absl::StrCat("`", setting, "` must be a bool"))
                        .At(expression.span, absl::StrCat("this is ", DescribeType(value, evaluator.graph()))));
  }
}

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_SETTINGS_CHOICE_H_
