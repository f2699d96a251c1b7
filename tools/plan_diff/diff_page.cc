#include "tools/plan_diff/diff_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "tools/page/escape.h"
#include "tools/page/page.h"
#include "tools/page/parts.h"
#include "tools/plan_diff/folded.h"

namespace cleave::tools {
namespace {

// Text of which no line ends within a ratio: "x 0.943".
std::string Text(absl::string_view text) {
  return EscapedForHtml(absl::StrReplaceAll(text, {{" x ", " x\xc2\xa0"}, {"(x ", "(x\xc2\xa0"}}));
}

// The first names, and the others folded.
std::string NamesCell(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  const auto first = names.begin() + static_cast<int64_t>(std::min(kShown, names.size()));
  const std::string shown = Text(absl::StrJoin(names.begin(), first, ", "));
  if (first == names.end()) return shown;
  return absl::StrCat(shown, "<details><summary>", Plural(names.end() - first, "more name"), "</summary>",
                      Text(absl::StrJoin(first, names.end(), ", ")), "</details>");
}

// A section with a table; empty without rows.
std::string Section(absl::string_view title, const PageColumns& columns, const std::vector<PageRow>& rows) {
  return rows.empty() ? "" : PageSection(title, PageTable(columns, rows, "sides"));
}

std::string TextsSection(absl::string_view title, absl::string_view what, const std::vector<TextChange>& changes) {
  std::vector<PageRow> rows;
  for (const FoldedChange& change : Folded(changes)) {
    rows.push_back(
        {NamesCell(change.names), Text(change.before.value_or("none")), Text(change.after.value_or("none"))});
  }
  return Section(title,
                 {{std::string(what), PageColumn::kCode}, {"Before", PageColumn::kCode}, {"After", PageColumn::kCode}},
                 rows);
}

std::string FiguresSection(const PlanDiff& diff) {
  std::vector<PageRow> rows;
  for (const FigureChange& change : diff.figures) {
    rows.push_back({Text(change.name), Text(FigureText(change.name, change.before)),
                    Text(FigureText(change.name, change.after)), Text(RatioText(change))});
  }
  return Section("Figures",
                 {{"Figure", PageColumn::kText},
                  {"Before", PageColumn::kNumber},
                  {"After", PageColumn::kNumber},
                  {"After by before", PageColumn::kNumber}},
                 rows);
}

std::string CollectivesSection(const PlanDiff& diff) {
  const auto side = [](int count, double bytes) {
    return absl::StrCat(count, " of ", FormatBytes(Bytes(static_cast<int64_t>(bytes))));
  };
  std::vector<PageRow> rows;
  for (const CollectiveChange& change : diff.collectives) {
    rows.push_back({Text(change.kind), Text(change.phase), Text(side(change.count_before, change.bytes_before)),
                    Text(side(change.count_after, change.bytes_after))});
  }
  return Section("Collectives, with the bytes that a rank sends in all",
                 {{"Collective", PageColumn::kText},
                  {"Phase", PageColumn::kText},
                  {"Before", PageColumn::kNumber},
                  {"After", PageColumn::kNumber}},
                 rows);
}

// "step_seconds 5.64 ms to 5.32 ms (x 0.943), …" of the figures that decide.
std::string Sentence(const PlanDiff& diff) {
  if (diff.is_empty()) return "The plans are equal.";
  const std::vector<std::pair<std::string, std::string>> decisive = {{"step_seconds", "a step"},
                                                                     {"memory peak", "the memory of a rank"},
                                                                     {"sent_bytes_per_rank", "what a rank sends"}};
  std::vector<std::string> parts;
  for (const auto& [name, what] : decisive) {
    for (const FigureChange& change : diff.figures) {
      if (change.name != name) continue;
      parts.push_back(absl::StrCat(what, " from ", FigureText(name, change.before), " to ",
                                   FigureText(name, change.after), " (", RatioText(change), ")"));
    }
  }
  const std::string ops = absl::StrCat(Plural(static_cast<int64_t>(diff.ops.size()), "op"), " cut in another way");
  if (parts.empty()) return absl::StrCat("Step, memory and bytes stay as they are; ", ops, ".");
  return absl::StrCat("From the first plan to the second: ", absl::StrJoin(parts, ", "), "; ", ops, ".");
}

}  // namespace

std::string DiffPage(const PlanDiff& diff, absl::string_view before, absl::string_view after) {
  const std::string body =
      absl::StrCat("<section id=\"verdict\"><h2>Verdict</h2>\n<p class=\"sentence\">", Text(Sentence(diff)),
                   "</p>\n</section>\n", FiguresSection(diff), TextsSection("Settings", "Setting", diff.settings),
                   TextsSection("Ops: their cuts, and what these cost", "Op", TextsOf(diff.ops)),
                   TextsSection("Tensors: how they lie", "Tensor", diff.tensors), CollectivesSection(diff));
  return PageAround({.kicker = "Two plans", .title = "Before and after", .how = absl::StrCat(before, " and ", after)},
                    body);
}

}  // namespace cleave::tools
