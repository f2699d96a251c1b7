#include "search/comparison.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/shared_programs.h"

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

SearchOptions WithSharedPrograms(SearchOptions options) {
  if (options.execution.shared == nullptr) options.execution.shared = std::make_shared<SharedPrograms>();
  return options;
}

SearchOptions ToBeat(const std::optional<MeasuredPlan>& known, SearchOptions options) {
  if (!known.has_value() || !IsByStep(options)) return options;
  options.faster_than = std::min(known->step, options.faster_than.value_or(known->step));
  return options;
}

bool PaysTimeForMemory(const ir::Plan& plan, const ir::Pins& pins) {
  if (plan.micro_batches > 1 && !pins.settings.micro_batches.has_value()) return true;
  std::set<ir::OpId> pinned;
  for (const ir::RetentionPin& pin : pins.retentions) pinned.insert(pin.op);
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const ir::OpId op(static_cast<int64_t>(i));
    if (plan.ops[op].retention != ir::Retention::kKeep && pinned.count(op) == 0) return true;
  }
  return false;
}

std::string WhyTaken(const MeasuredPlan& taken, const std::optional<MeasuredPlan>& other) {
  if (!other.has_value()) return "as asked, or because nothing else that fits is faster";
  return absl::StrCat("a rank needs ", FormatBytes(taken.peak), " and a step takes ", FormatSeconds(taken.step),
                      " in place of ", FormatBytes(other->peak), " and ", FormatSeconds(other->step));
}

}  // namespace cleave::search
