// Reading guide. A redistribution becomes a `Problem` (arrangement.h), in which only the places of atoms count. Where
// there are few, `ArrangementGraph` (graph.h) finds the cheapest path among the moves of moves.h, and is kept. Where
// there are more, `DirectPaths` (direct.h) gives a path at once, `CostBound` (bound.h) gives the least cost of any
// path, and where they differ, `ShortestPath` (search.h) looks for a better one. The bound is one of weighted bytes:
// under another price the better of these two paths is taken.

#include "ir/program/redistribute/redistribute.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/program/redistribute/arrangement.h"
#include "ir/program/redistribute/bound.h"
#include "ir/program/redistribute/graph.h"
#include "ir/program/redistribute/moves.h"
#include "ir/program/redistribute/price.h"
#include "ir/program/redistribute/search.h"
#include "ir/program/redistribute/windows.h"
#include "ir/sharding/layout/boxes.h"

namespace cleave::ir {
namespace {

// With up to so many atoms a graph of all arrangements gives the path.
constexpr size_t kMostGraphAtoms = 3;
// With up to so many atoms all moves of an arrangement are looked at, with more only the promising ones.
constexpr size_t kMostFreeAtoms = 4;

double LocalBytes(const Mesh& mesh, const TensorType& type, const Layout& layout) {
  return static_cast<double>(ElementSize(type.dtype).value()) *
         static_cast<double>(ElementCount(LargestLocalShape(layout, mesh, type.shape)));
}

struct Solution {
  Problem problem;
  FoundPath path;
  ProblemSize size = ProblemSize::kMerged;  // Of the problem.
};

// The direct path over as few atoms as there can be.
Solution SolveDirectly(const Mesh& mesh, const CollectivePrice& price, const TensorType& type, const Layout& source,
                       const Layout& target) {
  Problem problem = MakeProblem(mesh, price, type, source, target, ProblemSize::kMerged);
  FoundPath path = DirectPath(problem);
  path.is_cheapest = false;
  return {std::move(problem), std::move(path)};
}

// By weighted bytes, of which there is a bound.
Solution SolveBySearch(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target) {
  static const auto& kBytes = *new CollectivePrice(nullptr);
  Problem whole = MakeProblem(mesh, kBytes, type, source, target, ProblemSize::kWhole);
  const bool is_small = whole.atoms.size() <= kMostFreeAtoms;
  const int64_t least = whole.Ticks(CostBound(whole, BoundKind::kProven).AtLeast(whole.source));
  Problem problem = is_small ? whole : MakeProblem(mesh, kBytes, type, source, target, ProblemSize::kMerged);
  FoundPath path = DirectPath(problem);
  const auto is_least = [&] { return whole.Ticks(path.cost) <= least; };
  // A path that sends no more than must be sent cannot be cheaper, and one with a single collective cannot be shorter.
  if (!is_least() || (is_small && path.collectives > 1)) {
    SearchLimits limits;
    if (!is_small) limits.bound = BoundKind::kEstimate;
    if (problem.atoms.size() > kMostFreeAtoms) limits.choice = MoveChoice::kPromising;
    path = ShortestPath(problem, std::move(path), limits);
  }
  path.is_cheapest = is_least() || (is_small && path.is_cheapest);
  return {std::move(problem), std::move(path), is_small ? ProblemSize::kWhole : ProblemSize::kMerged};
}

// By `price`: the better of the direct path and the one with least weighted bytes.
Solution SolveByPrice(const Mesh& mesh, const CollectivePrice& price, const TensorType& type, const Layout& source,
                      const Layout& target) {
  Solution direct = SolveDirectly(mesh, price, type, source, target);
  const Solution searched = SolveBySearch(mesh, type, source, target);
  Problem problem = MakeProblem(mesh, price, type, source, target, searched.size);
  FoundPath path = Priced(problem, searched.path.moves);
  if (problem.Ticks(direct.path.cost) <= problem.Ticks(path.cost)) return direct;
  return {std::move(problem), std::move(path)};
}

void Append(Redistribution& redistribution, Move move) {
  std::vector<Move>& moves = redistribution.moves;
  if (!move.collective.has_value() && !moves.empty() && !moves.back().collective.has_value()) {
    moves.back().axes.insert(moves.back().axes.end(), move.axes.begin(), move.axes.end());
    moves.back().result = std::move(move.result);
    return;
  }
  redistribution.collectives += move.collective.has_value() ? 1 : 0;
  moves.push_back(std::move(move));
}

Redistribution WayOf(const Solution& solution) {
  const Problem& problem = solution.problem;
  const FoundPath& path = solution.path;
  Redistribution redistribution{.moves = {}, .cost = path.cost, .is_cheapest = path.is_cheapest};
  for (const ArrangementMove& step : path.moves) {
    Move move{.collective = step.collective,
              .axes = problem.AxesOf(step.atoms),
              .from_dimension = step.from_dimension,
              .to_dimension = step.to_dimension,
              .result = problem.LayoutOf(step.result)};
    if (step.collective == CollectiveKind::kAllReduce || step.collective == CollectiveKind::kReduceScatter) {
      move.reduction = problem.atom(step.atoms.front()).reduction;
    }
    if (step.collective == CollectiveKind::kAllReduce || step.collective == CollectiveKind::kPermute) {
      std::sort(move.axes.begin(), move.axes.end());
    }
    Append(redistribution, std::move(move));
  }
  return redistribution;
}

absl::Status CheckPartial(const Mesh& mesh, const Layout& source, const Layout& target) {
  for (const PartialAxis& wanted : target.partial) {
    if (std::find(source.partial.begin(), source.partial.end(), wanted) == source.partial.end()) {
      return absl::InvalidArgumentError(absl::StrCat("a tensor that lies as ", LayoutText(source, mesh),
                                                     " cannot be made partial over `", mesh.axis(wanted.axis).name,
                                                     "` (", ReductionName(wanted.reduction), ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

RedistributionPlanner::RedistributionPlanner(Mesh mesh, CollectivePrice price)
    : mesh_(std::move(mesh)), price_(std::move(price)), graphs_(std::make_unique<ArrangementGraphs>()) {}

RedistributionPlanner::~RedistributionPlanner() = default;

absl::StatusOr<Redistribution> RedistributionPlanner::Plan(const TensorType& type, const Layout& source,
                                                           const Layout& target, RedistributionEffort effort) {
  CLEAVE_CHECK(VerifyLayout(source, mesh_, type.rank()).ok()) << LayoutText(source, mesh_);
  CLEAVE_CHECK(VerifyLayout(target, mesh_, type.rank()).ok()) << LayoutText(target, mesh_);
  if (source == target) return Redistribution{};
  if (!source.windows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor that lies in windows, as ", LayoutText(source, mesh_),
                                                   ", cannot be brought into another layout, ",
                                                   LayoutText(target, mesh_)));
  }
  CLEAVE_RETURN_IF_ERROR(CheckPartial(mesh_, source, target));
  return target.windows.empty() ? PlanWithoutWindows(type, source, target, effort)
                                : PlanIntoWindows(type, source, target, effort);
}

size_t RedistributionPlanner::QuestionHash::operator()(const Question& question) const {
  return absl::HashOf(static_cast<int>(question.type.dtype), question.type.shape, question.source.dimensions,
                      question.source.PartialAxes(), question.target.dimensions, question.target.PartialAxes());
}

Redistribution RedistributionPlanner::PlanWithoutWindows(const TensorType& type, const Layout& source,
                                                         const Layout& target, RedistributionEffort effort) {
  if (source == target) return Redistribution{};
  if (effort == RedistributionEffort::kDirect) return WayOf(SolveDirectly(mesh_, price_, type, source, target));
  Problem problem = MakeProblem(mesh_, price_, type, source, target, ProblemSize::kShared);
  if (problem.atoms.size() <= kMostGraphAtoms) {
    FoundPath path = graphs_->CheapestPath(problem);
    return WayOf({.problem = std::move(problem), .path = std::move(path)});
  }
  const auto [found, is_new] = searched_.try_emplace({.type = type, .source = source, .target = target});
  if (is_new) {
    found->second = WayOf(price_ == nullptr ? SolveBySearch(mesh_, type, source, target)
                                            : SolveByPrice(mesh_, price_, type, source, target));
  }
  return found->second;
}

Redistribution RedistributionPlanner::PlanIntoWindows(const TensorType& type, const Layout& source,
                                                      const Layout& target, RedistributionEffort effort) {
  std::optional<Redistribution> best;
  bool is_cheapest = true;
  for (WindowEntry& entry : EntriesInto(mesh_, type.shape, target)) {
    Redistribution way = PlanWithoutWindows(type, source, entry.before, effort);
    is_cheapest = is_cheapest && way.is_cheapest;
    way.cost += MoveCost(mesh_, type, entry.before, entry.move, price_);
    Append(way, std::move(entry.move));
    if (!best.has_value() || IsCheaper(way, *best)) best = std::move(way);
  }
  best->is_cheapest = is_cheapest;
  return *std::move(best);
}

absl::StatusOr<Redistribution> SharedRedistributions::Plan(const TensorType& type, const Layout& source,
                                                           const Layout& target) {
  const std::lock_guard lock(mutex_);
  return planner_.Plan(type, source, target);
}

bool IsCheaper(const Redistribution& a, const Redistribution& b) {
  // Sums of the same prices in another order differ in the last bits.
  const double tolerance = 1e-9 * std::max(a.cost, b.cost);
  if (a.cost < b.cost - tolerance) return true;
  return a.cost <= b.cost + tolerance && a.collectives < b.collectives;
}

absl::StatusOr<Redistribution> PlanRedistribution(const Mesh& mesh, const TensorType& type, const Layout& source,
                                                  const Layout& target, RedistributionEffort effort) {
  return RedistributionPlanner(mesh).Plan(type, source, target, effort);
}

double MoveCost(const Mesh& mesh, const TensorType& type, const Layout& source, const Move& move,
                const CollectivePrice& price) {
  if (!move.collective.has_value()) return 0;
  double input = LocalBytes(mesh, type, source), output = LocalBytes(mesh, type, move.result);
  if (move.collective == CollectiveKind::kNeighborExchange) {
    const int64_t received = LargestReceivedElements(source, move.result, mesh, type.shape);
    input = output = static_cast<double>((ElementSize(type.dtype) * received).value());
  }
  if (price == nullptr) return MovePrice(move.collective, LinkClassesOf(mesh, move.axes), input, output);
  return price(*move.collective, move.axes, move.collective == CollectiveKind::kAllGather ? output : input);
}

double CostAtLeast(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target) {
  const CollectivePrice bytes = nullptr;
  const Problem problem = MakeProblem(mesh, bytes, type, source, target, ProblemSize::kWhole);
  return CostBound(problem, BoundKind::kProven).AtLeast(problem.source);
}

}  // namespace cleave::ir
