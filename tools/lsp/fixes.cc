#include "tools/lsp/fixes.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/lsp/scan.h"

namespace cleave::tools {
namespace {

// The code behind `head`, in backticks: "did you mean `relu`?".
std::optional<std::string> CodeAfter(absl::string_view help, absl::string_view head) {
  const size_t at = help.find(absl::StrCat(head, "`"));
  if (at == absl::string_view::npos) return std::nullopt;
  const size_t begin = at + head.size() + 1;
  const size_t end = help.find('`', begin);
  if (end == absl::string_view::npos || end == begin) return std::nullopt;
  return std::string(help.substr(begin, end - begin));
}

absl::string_view TextAt(const FileRange& range, absl::string_view text) {
  const auto begin = static_cast<size_t>(range.begin), end = static_cast<size_t>(range.end);
  if (range.begin < 0 || end < begin || end > text.size()) return "";
  return text.substr(begin, end - begin);
}

}  // namespace

std::vector<Fix> FixesOf(const FoundDiagnostic& diagnostic, absl::string_view text) {
  std::vector<Fix> fixes;
  if (diagnostic.labels.empty()) return fixes;
  const FileRange& place = diagnostic.labels[0].range;
  const absl::string_view there = TextAt(place, text);
  if (diagnostic.code == "E0101" && place.begin == place.end && absl::StartsWith(diagnostic.message, "expected `;`")) {
    fixes.push_back({.title = "insert `;`", .range = place, .text = ";"});
  }
  for (const std::string& help : diagnostic.help) {
    if (const auto meant = CodeAfter(help, "did you mean "); meant.has_value() && IsName(there)) {
      fixes.push_back({.title = absl::StrCat("change to `", *meant, "`"), .range = place, .text = *meant});
    }
    if (const auto unused = CodeAfter(help, "if that is meant, call it "); unused.has_value() && IsName(there)) {
      fixes.push_back({.title = absl::StrCat("call it `", *unused, "`"), .range = place, .text = *unused});
    }
    if (const auto converted = CodeAfter(help, "convert it: ");
        converted.has_value() && IsName(there) && absl::StrContains(*converted, absl::StrCat("(", there, ","))) {
      fixes.push_back({.title = absl::StrCat("convert: `", *converted, "`"), .range = place, .text = *converted});
    }
    if (const auto named = CodeAfter(help, "name it: "); named.has_value()) {
      const std::string head = absl::StrCat(absl::StripSuffix(*named, "…"));
      if (head != *named && absl::EndsWith(head, " = ") && IsName(absl::StripSuffix(head, " = ")) && !there.empty()) {
        fixes.push_back(
            {.title = absl::StrCat("write `", head, there, "`"), .range = place, .text = absl::StrCat(head, there)});
      }
    }
    // A declaration without `mut`, which the second label shows.
    if (diagnostic.code == "E0209" && absl::StartsWith(help, "`let mut ") && diagnostic.labels.size() > 1) {
      FileRange declared = diagnostic.labels[1].range;
      if (declared.path != place.path || !IsName(TextAt(declared, text))) continue;
      declared.end = declared.begin;
      fixes.push_back({.title = "declare it with `mut`", .range = declared, .text = "mut "});
    }
  }
  return fixes;
}

}  // namespace cleave::tools
