#include "frontend/attributes/counts.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave::frontend {

bool IsWord(const dsl::syntax::Expression& expression, const std::string& word) {
  const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind);
  return name != nullptr && name->text == word;
}

ir::CountsPin ReadCounts(const dsl::syntax::Expression& expression, const IntEvaluator& evaluate, Reporter& reporter,
                         bool& ok) {
  if (IsWord(expression, "auto")) return std::nullopt;
  const auto malformed = [&](Span span, std::string message, std::string label, std::string help = "") {
    ReportMalformed(span, std::move(message), std::move(label), std::move(help), reporter);
    ok = false;
  };
  const auto* tuple = std::get_if<dsl::syntax::Tuple>(&expression.kind);
  if (tuple == nullptr) {
    malformed(expression.span, "slices are a tuple with one number per dimension", "expected a tuple or `auto`",
              "for one dimension write `(4)`");
    return std::nullopt;
  }
  std::vector<ir::Placed<int64_t>> counts;
  for (const dsl::syntax::Argument& element : tuple->elements) {
    if (element.name) malformed(element.name->span, "slices have no names", "no name here");
    const std::optional<int64_t> count = evaluate(*element.value, "a number of slices");
    if (!count) {
      ok = false;
    } else if (*count < 1) {
      malformed(element.span, "a dimension is cut into at least 1 slice", absl::StrCat("this is ", *count));
    } else {
      counts.push_back({*count, element.span});
    }
  }
  return counts;
}

void ReportMalformed(Span span, std::string message, std::string label, std::string help, Reporter& reporter) {
  Diagnostic error = Error(Code::kE0303, std::move(message)).At(span, std::move(label));
  if (!help.empty()) error.help.push_back(std::move(help));
  reporter.Report(std::move(error));
}

}  // namespace cleave::frontend
