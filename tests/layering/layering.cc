#include "tests/layering/layering.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/layering/order.h"

namespace cleave::tests::layering {
namespace {

// `text` with the contents of raw strings and comments replaced by blanks; newlines stay, so that lines keep their
// numbers.
std::string WithoutRawStringsAndComments(absl::string_view text) {
  std::string result(text);
  const auto blank = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < std::min(end, result.size()); ++i) {
      if (result[i] != '\n') result[i] = ' ';
    }
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (absl::StartsWith(text.substr(i), "//")) {
      end = text.find('\n', i);
      blank(i, end);
    } else if (absl::StartsWith(text.substr(i), "/*")) {
      end = text.find("*/", i + 2);
      blank(i, end);
    } else if (absl::StartsWith(text.substr(i), "R\"")) {
      const size_t open = text.find('(', i);
      if (open != absl::string_view::npos) {
        const std::string close = absl::StrCat(")", text.substr(i + 2, open - i - 2), "\"");
        end = text.find(close, open);
        blank(i, end);
        if (end != absl::string_view::npos) end += close.size();
      }
    } else if (text[i] == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (text[i] == '\'' && absl::StartsWith(text.substr(i), "'\"'")) {
      end = i + 3;
    }
    if (end == absl::string_view::npos) break;
    i = end;
  }
  return result;
}

// The path in an include line, without its quotes; empty for any other line.
absl::string_view IncludedPath(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "#")) return "";
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "include")) return "";
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.size() < 2 || (line[0] != '"' && line[0] != '<')) return "";
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  return end == absl::string_view::npos ? "" : line.substr(1, end - 1);
}

bool IsIn(absl::string_view path, absl::Span<const absl::string_view> folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](absl::string_view folder) { return absl::StartsWith(path, absl::StrCat(folder, "/")); });
}

std::string WrongWay(const Layer& user, const Layer& used, absl::string_view what) {
  return absl::StrCat("`", user.name, "` may not use `", used.name, "`: ", what);
}

// The labels "//…" in a line of a BUILD file that name a dependency, from after the "//".
std::vector<absl::string_view> Labels(absl::string_view line) {
  std::vector<absl::string_view> labels;
  for (size_t begin = line.find("\"//"); begin != absl::string_view::npos; begin = line.find("\"//", begin)) {
    begin += 3;
    const size_t end = line.find('"', begin);
    const absl::string_view label = line.substr(begin, end - begin);
    const bool grants = absl::EndsWith(label, ":__subpackages__") || absl::EndsWith(label, ":__pkg__");
    if (!grants) labels.push_back(label);
    if (end == absl::string_view::npos) break;
  }
  return labels;
}

// Labels of plain text, which cannot be linked: `codegen` embeds the sources of `runtime`, and a crate's test may read
// the examples.
bool IsText(const Layer& user, const Layer& used, absl::string_view label) {
  if (used.name == "examples") return true;
  return user.name == "codegen" && used.name == "runtime" &&
         (absl::EndsWith(label, ":sources") || absl::EndsWith(label, "files"));
}

// The stand-in for the CUDA libraries takes the place of a package in third_party: `runtime` is compiled against it,
// and tests of `codegen` read its sources. It is `testonly`, so Bazel keeps it out of everything that is not a test.
bool IsStandIn(const Layer& user, absl::string_view package) {
  return package == "tests/stand_in" && (user.name == "runtime" || user.name == "codegen");
}

// Whether the file opens with a comment of several words, over one or more lines, that ends like a sentence.
bool OpensWithASentence(absl::string_view text) {
  std::string comment;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "# ")) break;
    absl::StrAppend(&comment, comment.empty() ? "" : " ", line);
  }
  return absl::StrContains(comment, ' ') && absl::EndsWith(comment, ".");
}

}  // namespace

std::string ToString(const Finding& finding) {
  return absl::StrCat(finding.path, finding.line > 0 ? absl::StrCat(":", finding.line) : "", ": ", finding.message);
}

std::vector<Finding> CheckSource(absl::string_view path, absl::string_view text) {
  std::vector<Finding> findings;
  const Layer* user = LayerOf(path);
  if (user == nullptr) return findings;
  const Layer* area = absl::EndsWith(path, "_test.cc") ? nullptr : AreaOf(path);
  const std::string code = WithoutRawStringsAndComments(text);
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(code, '\n')) {
    ++number;
    const absl::string_view header = IncludedPath(line);
    if (header.empty()) continue;
    const auto report = [&](std::string message) {
      findings.push_back({.path = std::string(path), .line = number, .message = std::move(message)});
    };
    const Layer* used = LayerOf(header);
    if (used != nullptr && !MayUse(*user, *used)) report(WrongWay(*user, *used, header));
    const Layer* used_area = used == user ? AreaOf(header) : nullptr;
    if (area != nullptr && used_area != nullptr && !MayUse(*area, *used_area)) {
      report(WrongWay(*area, *used_area, header));
    }
    const Restriction* restriction = RestrictionOf(header);
    if (restriction != nullptr && !IsIn(path, restriction->folders)) {
      report(absl::StrCat("headers of ", restriction->library, " have no place here: ", header));
    }
  }
  return findings;
}

std::vector<Finding> CheckBuild(absl::string_view path, absl::string_view text) {
  std::vector<Finding> findings;
  const Layer* user = LayerOf(path);
  if (!OpensWithASentence(text)) {
    findings.push_back({.path = std::string(path), .line = 1, .message = "does not open with a sentence in a comment"});
  }
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const auto report = [&](std::string message) {
      findings.push_back({.path = std::string(path), .line = number, .message = std::move(message)});
    };
    if (user == nullptr || absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#")) continue;
    for (const absl::string_view label : Labels(line)) {
      const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(label, absl::MaxSplits(':', 1));
      const Layer* used = LayerOf(parts.first);
      if (used == nullptr || MayUse(*user, *used) || IsStandIn(*user, parts.first)) continue;
      if (!IsText(*user, *used, label)) report(WrongWay(*user, *used, absl::StrCat("//", label)));
    }
  }
  return findings;
}

std::vector<std::string> VisibleTypes(absl::string_view text) {
  std::vector<std::string> types, namespaces;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "}  // namespace") && !namespaces.empty()) namespaces.pop_back();
    if (absl::ConsumePrefix(&line, "namespace ") && absl::ConsumeSuffix(&line, "{")) {
      namespaces.emplace_back(absl::StripAsciiWhitespace(line));
      continue;
    }
    if (absl::ConsumePrefix(&line, "template <")) line.remove_prefix(std::min(line.find("> ") + 2, line.size()));
    const bool is_type = absl::ConsumePrefix(&line, "class ") || absl::ConsumePrefix(&line, "struct ");
    if (!is_type || !absl::ConsumeSuffix(&line, " {")) continue;
    const bool is_private = std::find(namespaces.begin(), namespaces.end(), "") != namespaces.end();
    const absl::string_view name = line.substr(0, line.find(' '));
    const bool is_part = absl::StrContains(name, '<') || absl::StrContains(name, "::");  // Of another type.
    if (!is_private && !is_part) types.push_back(absl::StrCat(absl::StrJoin(namespaces, "::"), "::", name));
  }
  return types;
}

}  // namespace cleave::tests::layering
