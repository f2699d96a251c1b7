// Reading guide: the reference has three forms of which pages are made. A row of a table whose first cell is code is
// about the names in that cell; a section of the third level is about the word that is its heading; and in the example
// of `parallel` each line is a setting with a comment. Read goes through the text once.
#include "tools/lsp/pages.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/lsp/scan.h"

namespace cleave::tools {
namespace {

struct TextFile {
  absl::string_view path;
  absl::string_view text;
};

constexpr TextFile kFiles[] = {
#include "tools/lsp/language.inc"
};

constexpr size_t kMostSectionBytes = 1500;

struct Page {
  std::string row;      // Of a table.
  std::string section;  // The beginning of the section that is called so.
  std::string comment;  // Beside it in the example of its block.
};

using PageKey = std::pair<std::string, std::string>;  // Place, name.

// The cells of a row, of which code may have bars that are escaped.
std::vector<std::string> CellsOf(absl::string_view row) {
  std::vector<std::string> cells;
  const std::string escaped = absl::StrReplaceAll(row, {{"\\|", "\x01"}});
  for (absl::string_view cell : absl::StrSplit(escaped, '|')) {
    cells.push_back(absl::StrReplaceAll(absl::StripAsciiWhitespace(cell), {{"\x01", "|"}}));
  }
  if (cells.size() < 3) return {};
  return {cells.begin() + 1, cells.end() - 1};
}

// The names that a first cell is about: of "`precision(score, label)`, `recall`" both.
std::vector<std::string> NamesIn(const std::string& cell) {
  std::vector<std::string> names;
  bool is_code = false;
  for (absl::string_view part : absl::StrSplit(cell, '`')) {
    const size_t end = std::min(part.size(), part.find('('));
    if (is_code && IsName(part.substr(0, end))) names.emplace_back(part.substr(0, end));
    is_code = !is_code;
  }
  return names;
}

class Reader {
 public:
  std::map<PageKey, Page> Read(absl::string_view text) && {
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (absl::StartsWith(line, "```")) is_code_ = !is_code_;
      if (!is_code_ && absl::StartsWith(line, "#")) {
        Heading(line);
      } else if (!is_code_ && absl::StartsWith(line, "| `")) {
        Row(line);
      } else {
        Line(line);
      }
    }
    return std::move(pages_);
  }

 private:
  // Where names of this part of the reference belong.
  std::string Place() const { return chapter_ == "Settings" && section_ == "train" ? "train" : ""; }

  void Heading(absl::string_view line) {
    const size_t level = line.find_first_not_of('#');
    const std::string title(absl::StripAsciiWhitespace(line.substr(std::min(line.size(), level))));
    if (level == 2) chapter_ = title;
    section_ = title;
    // The last word of "search = propagate" is a value.
    current_ = nullptr;
    if (level != 3) return;
    for (absl::string_view part : absl::StrSplit(absl::StrReplaceAll(title, {{" and ", ","}, {" or ", ","}}), ',')) {
      const std::string name(absl::StripAsciiWhitespace(part));
      if (!IsName(name) && !IsReserved(name)) continue;
      const bool is_setting = chapter_ == "Settings" && name != "train";
      Page& page = pages_[{is_setting ? (name == "precision" ? "train" : "parallel") : "", name}];
      if (page.section.empty()) current_ = &page;
    }
  }

  void Row(absl::string_view line) {
    const std::vector<std::string> cells = CellsOf(line);
    if (cells.empty()) return;
    std::string text = cells[0];
    for (size_t i = 1; i < cells.size(); ++i) {
      if (!cells[i].empty()) absl::StrAppend(&text, i == 1 ? "\n\n" : "; ", cells[i]);
    }
    for (const std::string& name : NamesIn(cells[0])) {
      Page& page = pages_[{Place(), name}];
      if (page.row.empty()) page.row = text;
    }
  }

  void Line(absl::string_view line) {
    if (is_code_ && absl::StartsWith(line, "parallel {")) in_parallel_ = true;
    if (absl::StartsWith(line, "}")) in_parallel_ = false;
    const size_t assign = line.find(" = ");
    const size_t comment = line.find("// ");
    if (in_parallel_ && section_ == "parallel" && assign != absl::string_view::npos) {
      const std::string name(absl::StripAsciiWhitespace(line.substr(0, assign)));
      if (IsName(name)) {
        pages_[{"parallel", name}].comment =
            absl::StrCat("`", absl::StripAsciiWhitespace(line.substr(0, std::min(line.size(), comment))), "`",
                         comment == absl::string_view::npos ? "" : absl::StrCat(" ", line.substr(comment + 3)));
      }
    }
    if (current_ != nullptr && current_->section.size() < kMostSectionBytes) {
      absl::StrAppend(&current_->section, line, "\n");
    }
  }

  std::map<PageKey, Page> pages_;
  std::string chapter_, section_;
  Page* current_ = nullptr;  // The page whose section this is.
  bool is_code_ = false;
  bool in_parallel_ = false;
};

const Page* FindPage(absl::string_view name, absl::string_view place) {
  static const auto& pages = *new std::map<PageKey, Page>(Reader().Read(kFiles[0].text));
  const auto found = pages.find({std::string(place), std::string(name)});
  return found == pages.end() ? nullptr : &found->second;
}

// Whole paragraphs of the beginning of a section.
std::string Beginning(const std::string& section) {
  std::string text(absl::StripAsciiWhitespace(section));
  if (text.size() < kMostSectionBytes / 2) return text;
  const size_t end = text.find("\n\n", kMostSectionBytes / 4);
  return end == std::string::npos ? text : text.substr(0, end);
}

}  // namespace

std::string PageOf(absl::string_view name, absl::string_view place) {
  const Page* const page = FindPage(name, place);
  if (page == nullptr) return "";
  std::string text;
  for (const std::string& part : {page->row, page->comment, Beginning(page->section)}) {
    if (!part.empty()) absl::StrAppend(&text, text.empty() ? "" : "\n\n", part);
  }
  return text;
}

std::vector<std::string> ChoicesOf(absl::string_view setting, absl::string_view place) {
  std::vector<std::string> choices;
  const Page* const page = FindPage(setting, place);
  if (page == nullptr) return choices;
  const auto add = [&](std::string choice) {
    if (choice == setting) return;
    if (std::find(choices.begin(), choices.end(), choice) == choices.end()) choices.push_back(std::move(choice));
  };
  const auto is_choice = [](absl::string_view word) {
    return IsName(word.substr(0, std::min(word.size(), word.find('(')))) || word == "true" || word == "false";
  };
  // "`search = propagate;` sapp | propagate | exact"
  const size_t end = page->comment.find("` ");
  if (end != std::string::npos && absl::StrContains(page->comment, " | ")) {
    const std::string list = page->comment.substr(end + 2);
    for (absl::string_view word :
         absl::StrSplit(list.substr(0, std::min(list.size(), list.find_first_of(":;"))), '|')) {
      word = absl::StripAsciiWhitespace(word);
      if (is_choice(word)) add(std::string(word));
    }
  }
  bool is_code = false;
  for (absl::string_view part : absl::StrSplit(page->row, '`')) {
    if (is_code && is_choice(part)) add(std::string(part));
    is_code = !is_code;
  }
  return choices;
}

}  // namespace cleave::tools
