// Reading guide: DiffMarkdown writes the figures that decide, then each list of changes folded away.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "tools/plan_diff/folded.h"
#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {
namespace {

// Rows of a list, and names of a row: a comment is short, and GitHub refuses one of more than 65,536 characters.
constexpr size_t kMostRows = 20;
constexpr size_t kMostNames = 4;

// The figures that decide, by their names in PlanView and in the comment.
constexpr std::pair<const char*, const char*> kShown[] = {
    {"step_seconds", "step, predicted"},
    {"compute_seconds", "compute"},
    {"communication_seconds", "communication"},
    {"memory peak", "memory per rank"},
    {"sent_bytes_per_rank", "sent per rank and step"},
};

// As code within a cell of a table: there `|` would end the cell, and a backtick the code.
std::string AsCode(const std::string& text) {
  return absl::StrCat("`", absl::StrReplaceAll(text, {{"|", "\\|"}, {"`", "'"}, {"\n", " "}}), "`");
}

std::string AsCode(const std::optional<std::string>& text) { return text.has_value() ? AsCode(*text) : "none"; }

std::string NamesText(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) shown.push_back(AsCode(names[i]));
  std::string text = absl::StrJoin(shown, ", ");
  if (names.size() > kMostNames) absl::StrAppend(&text, " and ", names.size() - kMostNames, " more");
  return text;
}

// "+6.5 %"; empty where that says nothing.
std::string PercentText(double before, double after) {
  if (before <= 0 || before == after) return "";
  const double percent = 100 * (after - before) / before;
  return std::abs(percent) < 0.05 ? "" : absl::StrFormat("%+.1f %%", percent);
}

std::string TableRow(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

// A list that the reader opens.
std::string Folding(absl::string_view title, const std::vector<std::string>& rows, const std::string& head) {
  if (rows.empty()) return "";
  std::string text = absl::StrCat("\n<details><summary>", title, "</summary>\n\n", head);
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) absl::StrAppend(&text, rows[i]);
  if (rows.size() > kMostRows)
    absl::StrAppend(&text, "\nand ", Plural(static_cast<int64_t>(rows.size() - kMostRows), "more row"), "\n");
  return absl::StrCat(text, "\n</details>\n");
}

std::string FoldingOf(absl::string_view title, const std::vector<TextChange>& changes) {
  std::vector<std::string> rows;
  for (const FoldedChange& change : Folded(changes)) {
    rows.push_back(TableRow({NamesText(change.names), AsCode(change.before), AsCode(change.after)}));
  }
  return Folding(title, rows, "| | before | after |\n|---|---|---|\n");
}

std::string FiguresTable(const PlanDiff& diff) {
  std::string rows;
  for (const auto& shown : kShown) {
    const auto change = std::find_if(diff.figures.begin(), diff.figures.end(),
                                     [&](const FigureChange& figure) { return figure.name == shown.first; });
    if (change == diff.figures.end()) continue;
    absl::StrAppend(
        &rows, TableRow({shown.second, FigureText(shown.first, change->before), FigureText(shown.first, change->after),
                         PercentText(change->before.value_or(0), change->after.value_or(0))}));
  }
  for (const CollectiveChange& change : diff.collectives) {
    const auto side = [](int count, double bytes) {
      return count == 0 ? std::string("none")
                        : absl::StrCat(count, ", ", FormatBytes(Bytes(static_cast<int64_t>(bytes))));
    };
    const int more = change.count_after - change.count_before;
    absl::StrAppend(
        &rows,
        TableRow({absl::StrCat(AsCode(change.kind), ", ", change.phase), side(change.count_before, change.bytes_before),
                  side(change.count_after, change.bytes_after), more == 0 ? "" : absl::StrFormat("%+d", more)}));
  }
  return rows.empty() ? "" : absl::StrCat("\n| | before | after | |\n|---|---:|---:|---:|\n", rows);
}

std::string Headline(const PlanDiff& diff) {
  const auto step = std::find_if(diff.figures.begin(), diff.figures.end(),
                                 [](const FigureChange& figure) { return figure.name == "step_seconds"; });
  if (step == diff.figures.end()) return "the predicted step is the same";
  const std::string percent = PercentText(step->before.value_or(0), step->after.value_or(0));
  return absl::StrCat("step ", FigureText("step_seconds", step->before), " → ", FigureText("step_seconds", step->after),
                      percent.empty() ? "" : absl::StrCat(" (", percent, ")"));
}

}  // namespace

std::string DiffMarkdown(const PlanDiff& diff) {
  // A bot finds its own comment by the first line.
  constexpr absl::string_view kMark = "<!-- cleave diff -->\n";
  if (diff.is_empty()) return absl::StrCat(kMark, "**Plan: unchanged**\n");
  return absl::StrCat(kMark, "**Plan: ", Headline(diff), "**\n", FiguresTable(diff),
                      FoldingOf(Plural(static_cast<int64_t>(diff.tensors.size()), "layout"), diff.tensors),
                      FoldingOf(Plural(static_cast<int64_t>(diff.settings.size()), "setting"), diff.settings));
}

}  // namespace cleave::tools
