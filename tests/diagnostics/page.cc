#include "tests/diagnostics/page.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace cleave::tests::diagnostics {
namespace {

constexpr absl::string_view kExamples = "## An example that fails";
constexpr size_t kMostBytes = 4000;

std::string Fenced(absl::string_view language, absl::string_view text) {
  return absl::StrCat("```", language, "\n", text, absl::EndsWith(text, "\n") ? "" : "\n", "```\n");
}

bool IsShortText(absl::string_view text) {
  return text.size() <= kMostBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return !absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '\n' || c == '\t';
         });
}

// The commands and the model of one side.
std::string Shown(const CaseInput& input) {
  std::string text;
  if (input.script.has_value()) text = Fenced("sh", *input.script);
  if (input.model.has_value()) {
    absl::StrAppend(
        &text, text.empty() ? "" : "\n",
        IsShortText(*input.model) ? Fenced("rust", *input.model) : "The model is not text that can be shown here.\n");
  }
  return text;
}

}  // namespace

std::string PageTitle(Code code) { return absl::StrCat("# ", CodeName(code), ": ", CodeTitle(code)); }

std::string WithExamples(absl::string_view page, const CaseFolder& folder) {
  const absl::string_view words = absl::StripTrailingAsciiWhitespace(page.substr(0, page.find(kExamples)));
  return absl::StrCat(words, "\n\n", kExamples, "\n\n", Shown(folder.bad), "\nThe compiler says:\n\n",
                      Fenced("text", folder.expected.value_or("")), "\n## The same, repaired\n\n", Shown(folder.good));
}

std::vector<std::string> PageFaults(Code code, absl::string_view page, const CaseFolder& folder) {
  std::vector<std::string> faults;
  const absl::string_view title = page.substr(0, page.find('\n'));
  if (title != PageTitle(code)) faults.push_back(absl::StrCat("the first line is not \"", PageTitle(code), "\""));
  absl::string_view words = page.substr(0, page.find(kExamples));
  absl::ConsumePrefix(&words, title);
  words = absl::StripAsciiWhitespace(words);
  if (words.empty() || words.back() != '.') faults.push_back("no sentence says what the code means");
  if (page != WithExamples(page, folder)) {
    faults.push_back(
        absl::StrCat("the examples are not those of ", folder.name, "; `./bazelw run //:bless` writes them"));
  }
  return faults;
}

}  // namespace cleave::tests::diagnostics
