// Private to tools/contract: which lines of a model are behind a figure of its plan.
#ifndef CLEAVE_TOOLS_CONTRACT_CAUSES_H_
#define CLEAVE_TOOLS_CONTRACT_CAUSES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "frontend/contract/contract.h"
#include "search/explain/explain.h"

namespace cleave::tools {

// A line's share of a figure.
struct Cause {
  int line = 0;       // Of the model; 0: no line causes it.
  double amount = 0;  // In the unit of the figure.
  std::string what;   // "h2.matmul reads h1.relu in rows"
};

// What the plan has of a figure, and the lines that cause it, those with most first.
struct MeasuredFigure {
  double value = 0;
  std::vector<Cause> causes;
};

// REQUIRES: the figure is one of frontend::Figures().
MeasuredFigure Measure(absl::string_view figure, const search::Explained& explained);

// The text of a line of the model; nullopt where there is none.
std::optional<Span> SpanOfModelLine(int line, FileId model, const SourceSet& sources);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CONTRACT_CAUSES_H_
