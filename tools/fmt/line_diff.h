// What changes from one text to another, line by line.
#ifndef CLEAVE_TOOLS_FMT_LINE_DIFF_H_
#define CLEAVE_TOOLS_FMT_LINE_DIFF_H_

#include <string>

#include "absl/strings/string_view.h"

namespace cleave::tools {

// The change as `diff -u` and `patch` know it, with three lines of context and the names `before_name` and
// `after_name`; empty if the texts are equal. Time grows with the length of the texts times the number of lines that
// change (Myers: An O(ND) Difference Algorithm, 1986); beyond some thousand changes a text is shown as replaced in one
// piece.
std::string LineDiff(absl::string_view before, absl::string_view after, const std::string& before_name,
                     const std::string& after_name);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_FMT_LINE_DIFF_H_
