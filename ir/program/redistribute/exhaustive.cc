#include "ir/program/redistribute/exhaustive.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ir/program/redistribute/sampling.h"

namespace cleave::ir {
namespace {

bool Contains(const AxisList& axes, AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

std::set<AxisId> UsedAxes(const Layout& layout) {
  std::set<AxisId> used;
  for (const AxisList& axes : layout.dimensions) used.insert(axes.begin(), axes.end());
  for (const PartialAxis& entry : layout.partial) used.insert(entry.axis);
  return used;
}

// The dimension that an axis cuts, and the number of pieces that the axes before it make; (-1, -1) if it cuts none.
std::pair<int64_t, int64_t> PlaceOf(const Layout& layout, const Mesh& mesh, AxisId axis) {
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const AxisList& axes = layout.dimensions[d];
    const auto place = std::find(axes.begin(), axes.end(), axis);
    if (place != axes.end()) return {static_cast<int64_t>(d), mesh.Size(AxisList(axes.begin(), place))};
  }
  return {-1, -1};
}

}  // namespace

Exhaustive::Exhaustive(const Mesh& mesh, const TensorType& type, const std::vector<Reduction>& reductions)
    : mesh_(mesh), type_(type), layouts_(AllLayouts(mesh, type.rank(), reductions)), edges_(layouts_.size()) {
  for (size_t i = 0; i < layouts_.size(); ++i) index_[layouts_[i]] = i;
  for (size_t i = 0; i < layouts_.size(); ++i) {
    AddMovesOfReplicas(i);
    AddMovesOfSuffixes(i);
    AddReductions(i, {});
    AddPermutes(i);
  }
}

void Exhaustive::AddMove(size_t from, Move move) {
  edges_[from].push_back({.to = index_.at(move.result),
                          .price = MoveCost(mesh_, type_, layouts_[from], move),
                          .is_collective = move.collective.has_value()});
}

void Exhaustive::AddMovesOfReplicas(size_t from) {
  const std::set<AxisId> used = UsedAxes(layouts_[from]);
  for (AxisId axis : mesh_.AxisIds()) {
    if (used.count(axis) > 0) continue;
    for (size_t d = 0; d < layouts_[from].dimensions.size(); ++d) {
      Move slice{.collective = std::nullopt, .axes = {axis}, .result = layouts_[from]};
      slice.result.dimensions[d].push_back(axis);
      AddMove(from, std::move(slice));
    }
  }
}

void Exhaustive::AddMovesOfSuffixes(size_t from) {
  const Layout& layout = layouts_[from];
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    for (size_t keep = 0; keep < layout.dimensions[d].size(); ++keep) {
      Move gather{.collective = CollectiveKind::kAllGather, .axes = {}, .result = layout};
      gather.axes.assign(layout.dimensions[d].begin() + static_cast<ptrdiff_t>(keep), layout.dimensions[d].end());
      gather.result.dimensions[d].resize(keep);
      for (size_t to = 0; to < layout.dimensions.size(); ++to) {
        if (to == d) continue;
        Move exchange = gather;
        exchange.collective = CollectiveKind::kAllToAll;
        for (AxisId axis : exchange.axes) exchange.result.dimensions[to].push_back(axis);
        AddMove(from, std::move(exchange));
      }
      AddMove(from, std::move(gather));
    }
  }
}

// For every ordered choice of axes that begins with `chosen`.
void Exhaustive::AddReductions(size_t from, const AxisList& chosen) {
  const Layout& layout = layouts_[from];
  for (const PartialAxis& entry : layout.partial) {
    if (Contains(chosen, entry.axis)) continue;
    const auto first = std::find_if(layout.partial.begin(), layout.partial.end(), [&](const PartialAxis& other) {
      return !chosen.empty() && other.axis == chosen.front();
    });
    if (first != layout.partial.end() && first->reduction != entry.reduction) continue;
    AxisList axes = chosen;
    axes.push_back(entry.axis);
    Move reduce{.collective = CollectiveKind::kAllReduce, .axes = axes, .reduction = entry.reduction, .result = layout};
    std::vector<PartialAxis>& partial = reduce.result.partial;
    partial.erase(std::remove_if(partial.begin(), partial.end(),
                                 [&](const PartialAxis& other) { return Contains(axes, other.axis); }),
                  partial.end());
    AddMove(from, reduce);
    for (size_t d = 0; d < layout.dimensions.size(); ++d) {
      Move scatter = reduce;
      scatter.collective = CollectiveKind::kReduceScatter;
      for (AxisId axis : axes) scatter.result.dimensions[d].push_back(axis);
      AddMove(from, std::move(scatter));
    }
    AddReductions(from, axes);
  }
}

void Exhaustive::AddPermutes(size_t from) {
  const Layout& layout = layouts_[from];
  for (const Layout& other : layouts_) {
    if (other == layout || other.partial != layout.partial || CutCounts(other, mesh_) != CutCounts(layout, mesh_)) {
      continue;
    }
    Move permute{.collective = CollectiveKind::kPermute, .axes = {}, .result = other};
    for (AxisId axis : mesh_.AxisIds()) {
      if (PlaceOf(layout, mesh_, axis) != PlaceOf(other, mesh_, axis)) permute.axes.push_back(axis);
    }
    AddMove(from, std::move(permute));
  }
}

std::map<Layout, Exhaustive::Distance> Exhaustive::From(const Layout& source, const Layout* avoided) const {
  // Sums of equal prices in another order are ties.
  const auto ticks = [](double cost) { return std::llround(cost * 99991.7); };
  using Entry = std::tuple<int64_t, int, size_t, double>;
  std::set<Entry> queue = {{0, 0, index_.at(source), 0.0}};
  std::map<Layout, Distance> distances;
  std::vector<bool> is_done(layouts_.size(), false);
  while (!queue.empty()) {
    const auto [order, collectives, index, cost] = *queue.begin();
    queue.erase(queue.begin());
    if (is_done[index]) continue;
    is_done[index] = true;
    distances[layouts_[index]] = {.cost = cost, .collectives = collectives};
    if (avoided != nullptr && layouts_[index] == *avoided) continue;
    for (const Edge& edge : edges_[index]) {
      if (is_done[edge.to]) continue;
      const double next = cost + edge.price;
      queue.insert({ticks(next), collectives + (edge.is_collective ? 1 : 0), edge.to, next});
    }
  }
  return distances;
}

bool UsesEveryAxis(const Mesh& mesh, const Layout& source, const Layout& target) {
  std::set<AxisId> used;
  for (const Layout* layout : {&source, &target}) {
    for (const AxisList& axes : layout->dimensions) used.insert(axes.begin(), axes.end());
    for (AxisId axis : layout->PartialAxes()) used.insert(axis);
  }
  return used.size() == static_cast<size_t>(mesh.axis_count());
}

std::string Disagreement(RedistributionPlanner& planner, const TensorType& type, const Layout& source,
                         const Layout& target, const std::map<Layout, Exhaustive::Distance>& distances) {
  const Mesh& mesh = planner.mesh();
  const absl::StatusOr<Redistribution> plan = planner.Plan(type, source, target);
  const auto best = distances.find(target);
  const std::string what = absl::StrCat(mesh.ToString(), ", ", ShapeText(type.shape), ": ", LayoutText(source, mesh),
                                        " -> ", LayoutText(target, mesh), ": ");
  if (!plan.ok()) return best == distances.end() ? "" : absl::StrCat(what, plan.status().message());
  if (best == distances.end()) return absl::StrCat(what, "a way where there is none");
  const double tolerance = 1e-9 * std::max(1.0, best->second.cost);
  double cost = 0;
  const Layout* before = &source;
  for (const Move& move : plan->moves) {
    cost += MoveCost(mesh, type, *before, move);
    before = &move.result;
  }
  if (*before != target) return absl::StrCat(what, "ends as ", LayoutText(*before, mesh));
  if (std::abs(cost - plan->cost) > tolerance) return absl::StrCat(what, "says ", plan->cost, ", costs ", cost);
  if (std::abs(cost - best->second.cost) > tolerance || plan->collectives != best->second.collectives) {
    return absl::StrCat(what, plan->cost, " in ", plan->collectives, " collectives, cheapest is ", best->second.cost,
                        " in ", best->second.collectives);
  }
  if (!plan->is_cheapest) return absl::StrCat(what, "the cheapest, and not proven");
  if (CostAtLeast(mesh, type, source, target) > cost + tolerance) {
    return absl::StrCat(what, "costs ", cost, ", less than the bound ", CostAtLeast(mesh, type, source, target));
  }
  return "";
}

}  // namespace cleave::ir
