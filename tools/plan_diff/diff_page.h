// Two plans side by side as a page for a browser: what `cleave diff --html` writes.
#ifndef CLEAVE_TOOLS_PLAN_DIFF_DIFF_PAGE_H_
#define CLEAVE_TOOLS_PLAN_DIFF_DIFF_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {

// One file without a script (tools/page). `before` and `after` are what the plans are called, such as their paths.
// Equal changes are one row. The same arguments give the same bytes.
std::string DiffPage(const PlanDiff& diff, absl::string_view before, absl::string_view after);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PLAN_DIFF_DIFF_PAGE_H_
