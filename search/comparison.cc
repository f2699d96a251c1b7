#include "search/comparison.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"

namespace cleave::search {

std::optional<MeasuredPlan> Measure(const ir::Graph& graph, std::optional<Found> found, const Cluster& cluster,
                                    const SearchOptions& options) {
  if (!found.has_value()) return std::nullopt;
  if (!found->program.has_value()) found->program = MustMake(graph, found->plan, cluster, options.execution);
  const Bytes peak = PeakOf(*found->program);
  const Seconds step = StepOf(*found->program, cluster, options.execution);
  return MeasuredPlan{.found = *std::move(found), .peak = peak, .step = step};
}

bool IsBetter(const std::optional<MeasuredPlan>& a, const std::optional<MeasuredPlan>& b,
              const SearchOptions& options) {
  if (!a.has_value() || !b.has_value()) return a.has_value();
  return options.objective == ir::Objective::kMemory ? a->peak < b->peak : a->step < b->step;
}

std::string WhyTaken(const MeasuredPlan& taken, const std::optional<MeasuredPlan>& other) {
  if (!other.has_value()) return "as asked, or because nothing else fits";
  return absl::StrCat("a rank needs ", FormatBytes(taken.peak), " and a step takes ", FormatSeconds(taken.step),
                      " in place of ", FormatBytes(other->peak), " and ", FormatSeconds(other->step));
}

}  // namespace cleave::search
