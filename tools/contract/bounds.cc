#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "tools/contract/causes.h"
#include "tools/contract/contract.h"
#include "tools/contract/layouts.h"

namespace cleave::tools {
namespace {

using dsl::syntax::BinaryOperator;

// Lines that are shown of those that cause a figure.
constexpr size_t kMostLines = 3;

std::string AmountText(frontend::Unit unit, double amount) {
  switch (unit) {
    case frontend::Unit::kCount:
      return absl::StrCat(std::llround(amount));
    case frontend::Unit::kBytes:
      return FormatBytes(Bytes(std::llround(amount)));
    case frontend::Unit::kSeconds:
      return FormatSeconds(Seconds(amount));
  }
  CLEAVE_UNREACHABLE();
}

bool Holds(double value, BinaryOperator comparison, double limit) {
  switch (comparison) {
    case BinaryOperator::kLess:
      return value < limit;
    case BinaryOperator::kLessEqual:
      return value <= limit;
    case BinaryOperator::kEqual:
      return value == limit;
    case BinaryOperator::kGreaterEqual:
      return value >= limit;
    case BinaryOperator::kGreater:
      return value > limit;
    default:
      CLEAVE_UNREACHABLE();
  }
}

void CheckBound(const frontend::Bound& bound, const search::Explained& explained, FileId model,
                const SourceSet& sources, Diagnostics& diagnostics) {
  const MeasuredFigure measured = Measure(bound.figure, explained);
  if (Holds(measured.value, bound.comparison, bound.limit)) return;
  Diagnostic error =
      Error(Code::kE0801, absl::StrCat("`", bound.figure, "` is ", AmountText(bound.unit, measured.value), ", and `",
                                       bound.text, "` is expected"));
  const double over = measured.value - bound.limit;
  size_t others = 0;
  // What makes a figure too small is nothing that a line has.
  for (size_t i = 0; i < measured.causes.size() && over > 0; ++i) {
    const Cause& cause = measured.causes[i];
    std::string what = absl::StrCat(AmountText(bound.unit, cause.amount), ": ", cause.what);
    const std::optional<Span> line = SpanOfModelLine(cause.line, model, sources);
    if (i >= kMostLines) {
      ++others;
    } else if (line.has_value()) {
      error.labels.push_back({*line, std::move(what)});
    } else {
      error.notes.push_back(absl::StrCat("not of a line: ", what));
    }
  }
  error.labels.push_back({bound.span, over == 0 ? "it is no more and no less"
                                                : absl::StrCat("it is ", AmountText(bound.unit, std::abs(over)),
                                                               over > 0 ? " more" : " less")});
  if (others > 0)
    error.notes.push_back(absl::StrCat("the rest is of ", Plural(static_cast<int64_t>(others), "other line")));
  diagnostics.Add(std::move(error));
}

}  // namespace

void CheckContract(const frontend::Contract& contract, const search::Explained& explained, FileId model,
                   const SourceSet& sources, Diagnostics& diagnostics) {
  for (const frontend::Bound& bound : contract.bounds) CheckBound(bound, explained, model, sources, diagnostics);
  for (const frontend::ExpectedLayout& layout : contract.layouts) {
    CheckLayout(layout, explained, model, sources, diagnostics);
  }
}

}  // namespace cleave::tools
