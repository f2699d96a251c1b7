// What changed from one plan to another.
//
//   PlanDiff diff = Diff(*ReadPlanView(a), *ReadPlanView(b));
//   if (!diff.is_empty()) std::cout << DiffText(diff);
#ifndef CLEAVE_TOOLS_PLAN_DIFF_PLAN_DIFF_H_
#define CLEAVE_TOOLS_PLAN_DIFF_PLAN_DIFF_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/plan_diff/plan_view.h"

namespace cleave::tools {

// A name with two texts; nullopt where a plan has nothing of that name.
struct TextChange {
  std::string name;
  std::optional<std::string> before, after;

  bool operator==(const TextChange&) const = default;
};

struct FigureChange {
  std::string name;
  std::optional<double> before, after;

  bool operator==(const FigureChange&) const = default;
};

struct OpChange {
  std::string name;
  std::optional<OpView> before, after;

  bool operator==(const OpChange&) const = default;
};

// The collectives of one kind in one phase.
struct CollectiveChange {
  std::string kind, phase;
  int count_before = 0, count_after = 0;
  double bytes_before = 0, bytes_after = 0;  // Sent by each rank.

  bool operator==(const CollectiveChange&) const = default;
};

// Only what differs, ordered as in the first plan, then what only the second plan has. The time that the search took
// and the reasons as sentences are not compared.
struct PlanDiff {
  std::vector<TextChange> settings;
  std::vector<FigureChange> figures;
  std::vector<OpChange> ops;
  std::vector<TextChange> tensors;
  std::vector<CollectiveChange> collectives;

  bool is_empty() const {
    return settings.empty() && figures.empty() && ops.empty() && tensors.empty() && collectives.empty();
  }

  bool operator==(const PlanDiff&) const = default;
};

PlanDiff Diff(const PlanView& before, const PlanView& after);

// Lines of at most 100 columns. Equal changes are listed once, with the names of what they changed, and repeated layers
// are folded. The text is "the plans are equal" where nothing changed.
std::string DiffText(const PlanDiff& diff);

// A comment for a pull request, in GitHub's Markdown: figures and collectives as a table, and the layouts and
// settings that changed folded away, each list cut after some rows.
std::string DiffMarkdown(const PlanDiff& diff);

// One JSON object with every change, nothing folded.
std::string DiffJson(const PlanDiff& diff);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PLAN_DIFF_PLAN_DIFF_H_
