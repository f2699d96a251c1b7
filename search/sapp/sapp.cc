#include "search/sapp/sapp.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/sapp/greedy.h"
#include "search/sapp/refine.h"
#include "search/sapp/starts.h"

namespace cleave {
namespace {

struct Start {
  Cost cost;
  std::vector<Change> changes;
};

// How many starts are refined: the cheapest ones.
constexpr size_t kRefinedStarts = 3;

}  // namespace

double Sapp(Assignment& assignment, const Bundles& bundles, const SappOptions& options) {
  const int empty = assignment.mark();
  if (options.price == Price::kClassic) return GreedyByClassic(assignment, bundles);
  std::vector<Start> starts;
  const auto keep = [&] {
    Start start{.cost = assignment.cost(), .changes = Snapshot(assignment)};
    const bool known =
        std::any_of(starts.begin(), starts.end(), [&](const Start& other) { return other.cost == start.cost; });
    if (!known) starts.push_back(std::move(start));
    assignment.Rollback(empty);
  };
  GreedyByBytes(assignment, bundles);
  keep();
  for (int batch_axes = assignment.mesh().axis_count(); batch_axes >= 0; --batch_axes) {
    StartUniform(assignment, batch_axes);
    keep();
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Start& a, const Start& b) { return Cheaper(a.cost, b.cost); });
  if (starts.size() > kRefinedStarts) starts.resize(kRefinedStarts);
  for (Start& start : starts) {
    assignment.Apply(start.changes);
    Refine(assignment, bundles, {.work = options.work});
    start = {.cost = assignment.cost(), .changes = Snapshot(assignment)};
    assignment.Rollback(empty);
  }
  const Start* best = &starts[0];
  for (const Start& start : starts) {
    if (Cheaper(start.cost, best->cost)) best = &start;
  }
  assignment.Apply(best->changes);
  return assignment.cost().bytes;
}

}  // namespace cleave
