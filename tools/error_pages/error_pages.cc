#include "tools/error_pages/error_pages.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/text/text.h"

namespace cleave::tools {
namespace {

struct PageFile {
  absl::string_view path;  // "docs/errors/E0304.md"
  absl::string_view text;
};

constexpr PageFile kFiles[] = {
#include "tools/error_pages/pages.inc"
};

// "E0304", "W0601"
bool IsCode(absl::string_view name) {
  return name.size() == 5 && (name[0] == 'E' || name[0] == 'W') &&
         std::all_of(name.begin() + 1, name.end(), absl::ascii_isdigit);
}

// By code. README.md is not a page.
const std::map<std::string, absl::string_view>& Pages() {
  static const auto& pages = *[] {
    auto* result = new std::map<std::string, absl::string_view>;
    for (const PageFile& file : kFiles) {
      absl::string_view name = file.path.substr(file.path.rfind('/') + 1);
      name.remove_suffix(std::min(name.size(), absl::string_view(".md").size()));
      if (IsCode(name)) result->emplace(std::string(name), file.text);
    }
    return result;
  }();
  return pages;
}

CodeAnswer Unknown(const std::string& word) {
  std::vector<std::string> codes;
  for (const auto& [code, text] : Pages()) codes.push_back(code);
  const std::optional<std::string> nearest = NearestName(absl::AsciiStrToUpper(word), codes);
  return {.is_answered = false,
          .text = absl::StrCat("error: no code `", word, "`",
                               nearest.has_value() ? absl::StrCat(", did you mean `", *nearest, "`?") : "",
                               "\nhelp: without a code this lists all of them\n")};
}

CodeAnswer All() {
  CodeAnswer answer;
  for (const auto& [code, page] : Pages()) {
    absl::string_view title = page.substr(0, page.find('\n'));
    title.remove_prefix(std::min(title.size(), title.find_first_not_of("# ")));
    absl::StrAppend(&answer.text, title, "\n");
  }
  return answer;
}

}  // namespace

CodeAnswer ExplainCode(const std::vector<std::string>& words) {
  if (words.empty()) return All();
  if (words.size() > 1) {
    return {.is_answered = false, .text = absl::StrCat("error: one code at a time, found `", words[1], "` too\n")};
  }
  if (absl::StartsWith(words[0], "-")) {
    const bool asks_for_help = words[0] == "--help" || words[0] == "-h";
    return {.is_answered = asks_for_help,
            .text = absl::StrCat(asks_for_help ? "" : absl::StrCat("error: unexpected `", words[0], "`\n"),
                                 "usage: explain [CODE]\n  the page of a diagnostic code, or a list of all codes\n")};
  }
  const auto page = Pages().find(absl::AsciiStrToUpper(words[0]));
  if (page == Pages().end()) return Unknown(words[0]);
  return {.is_answered = true, .text = std::string(page->second)};
}

}  // namespace cleave::tools
