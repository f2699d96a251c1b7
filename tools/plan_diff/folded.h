// Private to tools/plan_diff: changes as people read them, in text and on a page.
#ifndef CLEAVE_TOOLS_PLAN_DIFF_FOLDED_H_
#define CLEAVE_TOOLS_PLAN_DIFF_FOLDED_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {

// Equal changes as one.
struct FoldedChange {
  std::vector<std::string> names;  // "h1.weight", "x.0..11.attn.q x 12"
  std::optional<std::string> before, after;
};

std::vector<FoldedChange> Folded(const std::vector<TextChange>& changes);

// The cuts of ops with their costs.
std::vector<TextChange> TextsOf(const std::vector<OpChange>& changes);

// With the unit that the name of a figure says; "none" where there is no value.
std::string FigureText(const std::string& name, const std::optional<double>& value);
// "x 0.943": the second value by the first one; empty where that says nothing.
std::string RatioText(const FigureChange& change);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PLAN_DIFF_FOLDED_H_
