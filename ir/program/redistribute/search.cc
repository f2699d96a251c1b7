// Reading guide. `PathSearch::Run` is A*: arrangements are taken in the order of the least cost of a path through them,
// which is their cost so far plus the bound of what is still to come (bound.h). The search always holds a complete
// path, the best so far: at first a direct one, then what is found on the way, also by going on directly from every
// arrangement that is taken. Paths that cannot be better are dropped, and the best path is the answer when the limit is
// reached.

#include "ir/program/redistribute/search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check/check.h"
#include "ir/program/redistribute/direct.h"

namespace cleave::ir {
namespace {

// The number of moves at which a search ends: about 0.3 ms.
constexpr int64_t kMostMoves = 2000;

PathCost After(const Problem& problem, PathCost cost, const Arrangement& start, const ArrangementPath& path) {
  double bytes = problem.LocalBytes(start);
  for (const ArrangementMove& move : path) {
    const double next = problem.LocalBytes(move.result);
    cost = cost.After(move, PriceOf(problem, move, bytes, next));
    bytes = next;
  }
  return cost;
}

class PathSearch {
 public:
  PathSearch(const Problem& problem, const SearchLimits& limits, FoundPath start)
      : problem_(problem), limits_(limits), bound_(problem, limits.bound), best_(std::move(start)) {
    best_order_ = After(problem, {}, problem.source, best_.moves).Order(problem);
  }

  FoundPath Run() {
    Reach({}, kNone, {.collective = std::nullopt, .atoms = {}, .result = problem_.source});
    while (!queue_.empty()) {
      const auto [order, index] = queue_.top();
      if (order >= best_order_) break;
      queue_.pop();
      if (OrderOf(nodes_[index]) != order) continue;  // A cheaper path came later into the queue.
      if (seen_moves_ >= kMostMoves) {
        best_.is_cheapest = CanProve() && problem_.Ticks(best_.cost) <= order.ticks;
        return std::move(best_);
      }
      Expand(index);
    }
    best_.is_cheapest = CanProve();
    return std::move(best_);
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  struct Node {
    PathCost cost;
    double bound = 0;  // Of what is still to come.
    size_t parent = kNone;
    ArrangementMove move;  // From the parent; its result is this node.
  };

  bool CanProve() const { return limits_.choice == MoveChoice::kAll && limits_.bound == BoundKind::kProven; }

  PathOrder OrderOf(const Node& node) const { return node.cost.Order(problem_, node.bound); }

  void Expand(size_t index) {
    const Arrangement here = nodes_[index].move.result;
    const PathCost cost = nodes_[index].cost;
    const double bytes = problem_.LocalBytes(here);
    if (index > 0 && limits_.choice != MoveChoice::kAll) FinishDirectly(index);
    for (ArrangementMove& move : MovesFrom(problem_, here, limits_.choice)) {
      const double price = PriceOf(problem_, move, bytes, problem_.LocalBytes(move.result));
      ++seen_moves_;
      const PathCost next = cost.After(move, price);
      if (next.Order(problem_) < best_order_) Reach(next, index, std::move(move));
    }
  }

  void FinishDirectly(size_t index) {
    const Arrangement here = nodes_[index].move.result;
    for (ArrangementPath& rest : DirectPaths(problem_, here)) {
      seen_moves_ += static_cast<int64_t>(rest.size());
      const PathCost cost = After(problem_, nodes_[index].cost, here, rest);
      if (cost.Order(problem_) >= best_order_) continue;
      ArrangementPath path = PathTo(index);
      std::move(rest.begin(), rest.end(), std::back_inserter(path));
      SetBest(cost, std::move(path));
    }
  }

  void SetBest(const PathCost& cost, ArrangementPath path) {
    best_order_ = cost.Order(problem_);
    best_ = {.moves = std::move(path), .cost = cost.bytes, .collectives = cost.collectives};
  }

  void Reach(const PathCost& cost, size_t parent, ArrangementMove move) {
    const auto [found, is_new] = index_.try_emplace(move.result, nodes_.size());
    const size_t index = found->second;
    if (is_new) {
      const double bound = bound_.AtLeast(move.result);
      nodes_.push_back({.cost = cost, .bound = bound, .parent = parent, .move = std::move(move)});
    } else if (cost.Order(problem_) < nodes_[index].cost.Order(problem_)) {
      nodes_[index].cost = cost;
      nodes_[index].parent = parent;
      nodes_[index].move = std::move(move);
    } else {
      return;
    }
    const PathOrder order = OrderOf(nodes_[index]);
    if (order >= best_order_) return;
    if (nodes_[index].move.result == problem_.target) {
      SetBest(cost, PathTo(index));
    } else {
      queue_.push({order, index});
    }
  }

  ArrangementPath PathTo(size_t index) const {
    ArrangementPath path;
    for (; nodes_[index].parent != kNone; index = nodes_[index].parent) path.push_back(nodes_[index].move);
    std::reverse(path.begin(), path.end());
    return path;
  }

  struct Entry {
    PathOrder order;
    size_t index = 0;  // Of equal ones the one that was reached first.

    auto operator<=>(const Entry&) const = default;
  };

  const Problem& problem_;
  const SearchLimits& limits_;
  CostBound bound_;
  FoundPath best_;
  PathOrder best_order_;
  int64_t seen_moves_ = 0;
  std::vector<Node> nodes_;
  absl::flat_hash_map<Arrangement, size_t> index_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

}  // namespace

FoundPath Priced(const Problem& problem, ArrangementPath path) {
  const PathCost cost = After(problem, {}, problem.source, path);
  return {.moves = std::move(path), .cost = cost.bytes, .collectives = cost.collectives};
}

FoundPath DirectPath(const Problem& problem) {
  FoundPath best;
  std::optional<PathOrder> least;
  for (ArrangementPath& path : DirectPaths(problem, problem.source)) {
    const PathCost cost = After(problem, {}, problem.source, path);
    const PathOrder order = cost.Order(problem);
    if (least.has_value() && order >= *least) continue;
    least = order;
    best = {.moves = std::move(path), .cost = cost.bytes, .collectives = cost.collectives};
  }
  CLEAVE_CHECK(least.has_value()) << "no direct path";
  return best;
}

FoundPath ShortestPath(const Problem& problem, FoundPath start, const SearchLimits& limits) {
  return PathSearch(problem, limits, std::move(start)).Run();
}

}  // namespace cleave::ir
