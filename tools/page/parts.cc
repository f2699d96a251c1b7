#include "tools/page/parts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/page/escape.h"

namespace cleave::tools {

std::string WithWholeOptions(absl::string_view text) { return absl::StrReplaceAll(text, {{"-", "-\xe2\x81\xa0"}}); }

std::string PageFigures(const std::vector<PageFigure>& figures) {
  std::string html = "<dl class=\"figures\">\n";
  for (const PageFigure& figure : figures) {
    absl::StrAppend(&html, "<div class=\"figure ", figure.state, "\"><dt>", EscapedForHtml(figure.what),
                    "</dt><dd><strong>", EscapedForHtml(figure.value), "</strong>");
    if (!figure.more.empty()) {
      absl::StrAppend(&html, "<span>", EscapedForHtml(WithWholeOptions(figure.more)), "</span>");
    }
    absl::StrAppend(&html, "</dd></div>\n");
  }
  return absl::StrCat(html, "</dl>\n");
}

std::string PageTable(const PageColumns& columns, const std::vector<PageRow>& rows, absl::string_view classes) {
  const auto attributes = [&](size_t i) {
    return columns[i].second == PageColumn::kNumber ? " class=\"numeric\"" : "";
  };
  std::string html = absl::StrCat("<table class=\"cards ", classes, "\"><thead><tr>");
  for (size_t i = 0; i < columns.size(); ++i) {
    absl::StrAppend(&html, "<th scope=\"col\"", attributes(i), ">", EscapedForHtml(columns[i].first), "</th>");
  }
  absl::StrAppend(&html, "</tr></thead>\n<tbody>\n");
  for (const PageRow& row : rows) {
    absl::StrAppend(&html, "<tr>");
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&html, "<td", attributes(i), " data-label=\"", EscapedForHtml(columns[i].first), "\"><div",
                      columns[i].second == PageColumn::kCode ? " class=\"name\"" : "", ">", row[i], "</div></td>");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  return absl::StrCat(html, "</tbody></table>\n");
}

std::string PageSection(absl::string_view title, absl::string_view content) {
  return absl::StrCat("<section><h2>", EscapedForHtml(title), "</h2>\n", content, "</section>\n");
}

}  // namespace cleave::tools
