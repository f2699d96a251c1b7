// Reading guide. `MakeProblem` (arrangement.h) leaves what differs between source and target, `MovesFrom` (moves.h)
// lists the moves from one arrangement, `ShortestPath` is Dijkstra's algorithm over them. A first pass along directed
// moves only gives an upper bound that keeps the full pass small: a handful of arrangements where layouts differ in a
// few axes.

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
      : problem_(problem), directed_(directed), most_ticks_(Ticks(most_bytes)) {}

  // The moves to the target, or nullopt where none cost at most `most_bytes`.
  std::optional<std::vector<ArrangementMove>> Run() {
    Reach({}, kNone, ArrangementMove{.collective = {}, .atoms = {}, .result = problem_.source});
    const std::string target = Key(problem_.target);
    while (!queue_.empty()) {
      const auto [order, key, index] = queue_.top();
      queue_.pop();
      if (nodes_[index].cost.Order() != order) continue;  // A cheaper path came later into the queue.
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
        if (Ticks(next.bytes) <= most_ticks_) Reach(next, index, std::move(move));
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  struct Node {
    PathCost cost;
    size_t parent = kNone;
    ArrangementMove move;  // From the parent; its result is this node.
  };

  void Reach(const PathCost& cost, size_t parent, ArrangementMove move) {
    std::string key = Key(move.result);
    const auto [found, is_new] = index_.try_emplace(key, nodes_.size());
    const size_t index = found->second;
    if (is_new) {
      nodes_.push_back({.cost = cost, .parent = parent, .move = std::move(move)});
    } else if (cost.Order() < nodes_[index].cost.Order()) {
      nodes_[index].cost = cost;
      nodes_[index].parent = parent;
      nodes_[index].move = std::move(move);
    } else {
      return;
    }
    queue_.push({cost.Order(), std::move(key), index});
  }

  std::vector<ArrangementMove> PathTo(size_t index) const {
    std::vector<ArrangementMove> path;
    for (; nodes_[index].parent != kNone; index = nodes_[index].parent) path.push_back(nodes_[index].move);
    std::reverse(path.begin(), path.end());
    return path;
  }

  using Entry = std::tuple<std::tuple<int64_t, int, int>, std::string, size_t>;

  const Problem& problem_;
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

// Whether no path can be cheaper than one of a single collective, or than `bytes`: links are alike, nothing is uneven,
// and either the one collective is the bandwidth-optimal one for what is asked, or some rank must receive all of
// `bytes`.
bool IsBandwidthOptimal(const Problem& whole, const Layout& source, const Layout& target,
                        const std::vector<ArrangementMove>& path, double bytes) {
  const Mesh& mesh = whole.mesh;
  int64_t pieces = 1;
  double weight = 0;
  for (const Atom& atom : whole.atoms) {
    pieces *= atom.size;
    for (AxisId axis : atom.axes) {
      if (weight != 0 && weight != mesh.axis(axis).weight) return false;
      weight = mesh.axis(axis).weight;
    }
  }
  for (int64_t elements : whole.type.shape) {
    if (elements % pieces != 0) return false;
  }
  if (path.size() == 1) return true;
  if (source.is_partial()) return false;
  constexpr int kMostRanks = 64;  // Every rank gives a bound; these are enough.
  int64_t most = 0;
  for (int rank = 0; rank < std::min(mesh.rank_count(), kMostRanks); ++rank) {
    const std::vector<Piece> has = SliceOf(source, mesh, whole.type.shape, rank);
    const std::vector<Piece> wants = SliceOf(target, mesh, whole.type.shape, rank);
    int64_t wanted = 1;
    int64_t shared = 1;
    for (size_t d = 0; d < has.size(); ++d) {
      const int64_t begin = std::max(has[d].begin, wants[d].begin);
      const int64_t end = std::min(has[d].begin + has[d].size, wants[d].begin + wants[d].size);
      wanted *= wants[d].size;
      shared *= std::max<int64_t>(end - begin, 0);
    }
    most = std::max(most, wanted - shared);
  }
  const double needed = static_cast<double>(most * ElementSize(whole.type.dtype).value()) * weight;
  return Ticks(bytes) <= Ticks(needed);
}

Path ShortestPath(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target) {
  constexpr double kNoLimit = 1e17;
  Problem merged = MakeProblem(mesh, type, source, target, ProblemSize::kMerged);
  std::optional<std::vector<ArrangementMove>> directed = PathSearch(merged, /*directed=*/true, kNoLimit).Run();
  CLEAVE_CHECK(directed.has_value()) << "no path from " << LayoutText(source, mesh) << " to "
                                     << LayoutText(target, mesh);
  const double limit = CostOf(merged, *directed);
  if (limit == 0) return {std::move(merged), *std::move(directed)};
  const Problem whole = MakeProblem(mesh, type, source, target, ProblemSize::kWhole);
  if (IsBandwidthOptimal(whole, source, target, *directed, limit)) return {std::move(merged), *std::move(directed)};
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
