// Parts of pages without a script (PageAround in page.h), as HTML.
//
//   std::string body = PageFigures({{.what = "step", .value = "3.1 ms", .more = "predicted 3.0 ms"}});
//   body += PageTable("Kernels", {{"Kernel", PageColumn::kCode}, {"Time", PageColumn::kNumber}}, rows);
#ifndef CLEAVE_TOOLS_PAGE_PARTS_H_
#define CLEAVE_TOOLS_PAGE_PARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::tools {

// Text of which no line ends behind a hyphen: `--plan-only` is one word.
std::string WithWholeOptions(absl::string_view text);

// A figure of a verdict: what it is, its value, and what there is to know of it.
struct PageFigure {
  std::string what, value, more = {};  // Text.
  std::string state = {};              // "good", "bad", or neither.
};

// The figures of a verdict as a list.
std::string PageFigures(const std::vector<PageFigure>& figures);

enum class PageColumn { kText, kCode, kNumber };
using PageColumns = std::vector<std::pair<std::string, PageColumn>>;  // With their heads, which are text.
using PageRow = std::vector<std::string>;                             // The cells of a row, which are HTML.

// A table, of which the rows become cards where the page is narrow. `classes`: more classes of it.
std::string PageTable(const PageColumns& columns, const std::vector<PageRow>& rows, absl::string_view classes = "");

// A section of a page; `title` is text, and `content` HTML.
std::string PageSection(absl::string_view title, absl::string_view content);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PAGE_PARTS_H_
