// Reading guide. `MakeProblem` (arrangement.h) leaves what matters of source and target, `MovesFrom` (moves.h) lists
// the moves from one arrangement, `PathSearch` is Dijkstra's algorithm over them, guided by a lower bound of what is
// still to come (bound.h). A first pass along directed moves only gives an upper bound that keeps the full pass small.

#include "ir/redistribute/redistribute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/redistribute/arrangement.h"
#include "ir/redistribute/bound.h"
#include "ir/redistribute/moves.h"

namespace cleave {
namespace {

// With more atoms than this only directed moves are tried.
constexpr size_t kMostFreeAtoms = 4;

// Sums of the same prices in another order differ in the last bits and must still be ties. No fraction of a byte that
// prices produce lies near a boundary between two ticks.
int64_t Ticks(double cost) { return std::llround(cost * 15.7); }

// `bytes` priced over `axes`: link weights from cheap to dear, each on what the cheaper ones left.
double GroupPrice(const Mesh& mesh, const std::vector<AxisId>& axes, double bytes, bool leaves_everything) {
  std::map<double, int64_t> ranks_by_weight;
  for (AxisId axis : axes) {
    const MeshAxis& mesh_axis = mesh.axis(axis);
    ranks_by_weight.try_emplace(mesh_axis.weight, 1).first->second *= mesh_axis.size;
  }
  double price = 0;
  for (const auto& [weight, count] : ranks_by_weight) {
    const double ranks = static_cast<double>(count);
    price += (ranks - 1) / ranks * bytes * weight;
    if (!leaves_everything) bytes /= ranks;
  }
  return price;
}

double Price(const Mesh& mesh, std::optional<CollectiveKind> collective, const std::vector<AxisId>& axes,
             double input_bytes, double output_bytes) {
  if (!collective.has_value()) return 0;
  switch (*collective) {
    case CollectiveKind::kAllReduce:
      return 2 * GroupPrice(mesh, axes, input_bytes, false);
    case CollectiveKind::kReduceScatter:
      return GroupPrice(mesh, axes, input_bytes, false);
    case CollectiveKind::kAllGather:
      return GroupPrice(mesh, axes, output_bytes, false);
    case CollectiveKind::kAllToAll:
      return GroupPrice(mesh, axes, input_bytes, true);
    case CollectiveKind::kBroadcast:
      return GroupPrice(mesh, axes, input_bytes, true);
    case CollectiveKind::kNeighborExchange:
    case CollectiveKind::kPermute: {
      double weight = 0;
      for (AxisId axis : axes) weight = std::max(weight, mesh.axis(axis).weight);
      return input_bytes * weight;
    }
  }
  CLEAVE_UNREACHABLE();
}

double LocalBytes(const Mesh& mesh, const TensorType& type, const Layout& layout) {
  return static_cast<double>(ElementSize(type.dtype).value()) *
         static_cast<double>(ElementCount(LargestLocalShape(layout, mesh, type.shape)));
}

// Ordered: what a path costs, and among equals what decides.
struct PathCost {
  double bytes = 0;
  int collectives = 0;
  int moves = 0;

  std::tuple<int64_t, int, int> Order() const { return {Ticks(bytes), collectives, moves}; }
};

class PathSearch {
 public:
  PathSearch(const Problem& problem, bool directed, double most_bytes)
      : problem_(problem), bound_(problem), directed_(directed), most_ticks_(Ticks(most_bytes)) {}

  // The moves to the target, or nullopt where none cost at most `most_bytes`.
  std::optional<std::vector<ArrangementMove>> Run() {
    Reach({}, kNone, ArrangementMove{.collective = {}, .atoms = {}, .result = problem_.source});
    const std::string target = Key(problem_.target);
    while (!queue_.empty()) {
      const auto [order, key, index] = queue_.top();
      queue_.pop();
      if (OrderOf(nodes_[index]) != order) continue;  // A cheaper path came later into the queue.
      if (key == target) return PathTo(index);
      const Arrangement here = nodes_[index].move.result;
      const PathCost cost = nodes_[index].cost;
      const double bytes_here = problem_.LocalBytes(here);
      for (ArrangementMove& move : MovesFrom(problem_, here, directed_)) {
        const double price = Price(problem_.mesh, move.collective, problem_.AxesOf(move.atoms), bytes_here,
                                   problem_.LocalBytes(move.result));
        const PathCost next{.bytes = cost.bytes + price,
                            .collectives = cost.collectives + (move.collective.has_value() ? 1 : 0),
                            .moves = cost.moves + 1};
        Reach(next, index, std::move(move));
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  struct Node {
    PathCost cost;
    double bound = 0;  // Of what is still to come.
    size_t parent = kNone;
    ArrangementMove move;  // From the parent; its result is this node.
  };

  void Reach(const PathCost& cost, size_t parent, ArrangementMove move) {
    std::string key = Key(move.result);
    const auto [found, is_new] = index_.try_emplace(key, nodes_.size());
    const size_t index = found->second;
    if (is_new) {
      nodes_.push_back({.cost = cost, .bound = bound_.AtLeast(move.result), .parent = parent, .move = std::move(move)});
    } else if (cost.Order() < nodes_[index].cost.Order()) {
      nodes_[index].cost = cost;
      nodes_[index].parent = parent;
      nodes_[index].move = std::move(move);
    } else {
      return;
    }
    const auto order = OrderOf(nodes_[index]);
    if (std::get<0>(order) <= most_ticks_) queue_.push({order, std::move(key), index});
  }

  // What a path through this node costs at least; then as for paths.
  static std::tuple<int64_t, int, int> OrderOf(const Node& node) {
    return {Ticks(node.cost.bytes + node.bound), node.cost.collectives, node.cost.moves};
  }

  std::vector<ArrangementMove> PathTo(size_t index) const {
    std::vector<ArrangementMove> path;
    for (; nodes_[index].parent != kNone; index = nodes_[index].parent) path.push_back(nodes_[index].move);
    std::reverse(path.begin(), path.end());
    return path;
  }

  using Entry = std::tuple<std::tuple<int64_t, int, int>, std::string, size_t>;

  const Problem& problem_;
  CostBound bound_;
  bool directed_;
  int64_t most_ticks_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<std::string, size_t> index_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

double CostOf(const Problem& problem, const std::vector<ArrangementMove>& path) {
  double cost = 0;
  double bytes = problem.LocalBytes(problem.source);
  for (const ArrangementMove& move : path) {
    const double next = problem.LocalBytes(move.result);
    cost += Price(problem.mesh, move.collective, problem.AxesOf(move.atoms), bytes, next);
    bytes = next;
  }
  return cost;
}

// A path over the atoms of one problem.
struct Path {
  Problem problem;
  std::vector<ArrangementMove> moves;
};

Path ShortestPath(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target) {
  constexpr double kNoLimit = 1e17;
  Problem merged = MakeProblem(mesh, type, source, target, ProblemSize::kMerged);
  std::optional<std::vector<ArrangementMove>> directed = PathSearch(merged, /*directed=*/true, kNoLimit).Run();
  CLEAVE_CHECK(directed.has_value()) << "no path from " << LayoutText(source, mesh) << " to "
                                     << LayoutText(target, mesh);
  const double limit = CostOf(merged, *directed);
  if (limit == 0) return {std::move(merged), *std::move(directed)};
  // One collective that moves no more than must move cannot be beaten.
  const bool is_single = std::count_if(directed->begin(), directed->end(),
                                       [](const ArrangementMove& move) { return move.collective.has_value(); }) == 1;
  const Problem whole = MakeProblem(mesh, type, source, target, ProblemSize::kWhole);
  if (is_single && Ticks(limit) <= Ticks(CostBound(whole).AtLeast(whole.source))) {
    return {std::move(merged), *std::move(directed)};
  }
  for (const ProblemSize size : {ProblemSize::kWhole, ProblemSize::kMoving, ProblemSize::kMerged}) {
    const Problem problem = MakeProblem(mesh, type, source, target, size);
    if (problem.atoms.size() > kMostFreeAtoms) continue;
    std::optional<std::vector<ArrangementMove>> path = PathSearch(problem, /*directed=*/false, limit).Run();
    if (path.has_value()) return {problem, *std::move(path)};
    break;
  }
  return {std::move(merged), *std::move(directed)};
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

absl::StatusOr<Redistribution> PlanRedistribution(const Mesh& mesh, const TensorType& type, const Layout& source,
                                                  const Layout& target) {
  CLEAVE_CHECK(VerifyLayout(source, mesh, type.rank()).ok()) << LayoutText(source, mesh);
  CLEAVE_CHECK(VerifyLayout(target, mesh, type.rank()).ok()) << LayoutText(target, mesh);
  if (source == target) return Redistribution{};
  if (absl::Status partial = CheckPartial(mesh, source, target); !partial.ok()) return partial;
  const auto [problem, path] = ShortestPath(mesh, type, source, target);
  Redistribution redistribution;
  redistribution.cost = CostOf(problem, path);
  for (const ArrangementMove& step : path) {
    Move move{.collective = step.collective,
              .axes = problem.AxesOf(step.atoms),
              .reduction = Reduction::kSum,
              .from_dimension = step.from_dimension,
              .to_dimension = step.to_dimension,
              .result = problem.LayoutOf(step.result)};
    if (step.collective == CollectiveKind::kAllReduce || step.collective == CollectiveKind::kReduceScatter) {
      move.reduction = problem.atoms[static_cast<size_t>(step.atoms.front())].reduction;
    }
    if (step.collective == CollectiveKind::kAllReduce || step.collective == CollectiveKind::kPermute) {
      std::sort(move.axes.begin(), move.axes.end());
    }
    std::vector<Move>& moves = redistribution.moves;
    if (!step.collective.has_value() && !moves.empty() && !moves.back().collective.has_value()) {
      // Slices that follow one another are one.
      moves.back().axes.insert(moves.back().axes.end(), move.axes.begin(), move.axes.end());
      moves.back().result = std::move(move.result);
      continue;
    }
    redistribution.collectives += step.collective.has_value() ? 1 : 0;
    moves.push_back(std::move(move));
  }
  return redistribution;
}

double MoveCost(const Mesh& mesh, const TensorType& type, const Layout& source, const Move& move) {
  return Price(mesh, move.collective, move.axes, LocalBytes(mesh, type, source), LocalBytes(mesh, type, move.result));
}

}  // namespace cleave
