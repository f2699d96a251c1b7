#include "search/slices.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/sliced_losses/sliced_losses.h"
#include "search/comparison.h"
#include "search/rows.h"

namespace cleave::search {
namespace {

// Of a power of two, which divides most sequences. With fewer parts logits still count, with more products are small.
constexpr int64_t kParts = 8;

using Parts = std::vector<std::pair<ir::OpId, int64_t>>;

// The losses whose number of parts the model leaves open and which can be computed in parts.
Parts OpenLosses(const ir::Graph& graph, const ir::ParallelSettings& settings) {
  Parts parts;
  if (settings.slice_losses == ir::SliceLosses::kNone) return parts;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kCrossEntropy || ir::PartsOf(op) != 0) continue;
    if (std::holds_alternative<ir::SlicedLoss>(ir::FindSlicedLoss(graph, op.id))) parts.emplace_back(op.id, kParts);
  }
  return parts;
}

void ExplainParts(const Parts& parts, bool takes_slices, const std::string& why, ir::Plan& plan) {
  for (const auto& [loss, count] : parts) {
    ir::OpPlan& planned = plan.ops[loss];
    if (takes_slices) planned.parts = count;
    absl::StrAppend(&planned.reason, "; ", takes_slices ? "in parts" : "of all logits at once", ": ", why);
  }
}

}  // namespace

std::optional<Found> SearchWithSlices(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics) {
  const Parts parts = OpenLosses(graph, pins.settings);
  if (parts.empty()) return SearchWithRows(graph, cluster, pins, options, diagnostics);
  const bool takes_all = pins.settings.slice_losses == ir::SliceLosses::kAll;
  Diagnostics of_whole, of_slices;
  std::optional<MeasuredPlan> whole, slices;
  const auto measure = [&](const ir::Graph& of, std::optional<Found> found) {
    const std::vector<ir::OpId> by_rows =
        found.has_value() ? ir::GradientsByRows(found->plan) : std::vector<ir::OpId>();
    return Measure(ir::WithRowUpdates(of, by_rows), std::move(found), cluster, options);
  };
  if (!takes_all) {
    std::optional<Found> found = SearchWithRows(graph, cluster, pins, options, of_whole);
    const bool is_memory = options.objective == ir::Objective::kMemory;
    if (found.has_value() && !is_memory && !PaysTimeForMemory(found->plan, pins)) {
      diagnostics.AddAll(of_whole);
      return found;
    }
    whole = measure(graph, std::move(found));
  }
  const ir::Graph sliced = ir::WithParts(graph, parts);
  slices = measure(sliced, SearchWithRows(sliced, cluster, pins, ToBeat(whole, options), of_slices));
  const bool takes_slices = IsBetter(slices, whole, options);
  diagnostics.AddAll(takes_slices || takes_all ? of_slices : of_whole);
  std::optional<MeasuredPlan>& taken = takes_slices ? slices : whole;
  if (!taken.has_value()) return std::nullopt;
  ExplainParts(parts, takes_slices, WhyTaken(*taken, takes_slices ? whole : slices), taken->found.plan);
  return std::move(taken->found);
}

}  // namespace cleave::search
