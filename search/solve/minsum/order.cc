#include "search/solve/minsum/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace cleave::search {
namespace {

enum class Greed { kTable, kFill, kNumber };

// The graph of variables that share a term, during elimination.
class NeighbourGraph {
 public:
  NeighbourGraph(const MinSum& problem, size_t many)
      : domains_(problem.domains), many_(many), neighbours_(problem.domains.size()) {
    for (const CostTerm& term : problem.terms) {
      for (const int variable : term.scope) {
        if (!counts(variable)) continue;
        std::vector<int>& list = neighbours_[static_cast<size_t>(variable)];
        for (const int other : term.scope) {
          if (other != variable && counts(other)) list.push_back(other);
        }
      }
    }
    for (std::vector<int>& list : neighbours_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  bool counts(int variable) const { return domains_[static_cast<size_t>(variable)] > 1; }
  // Whether the pairs of its neighbours are too many to look at.
  bool has_many(int variable) const { return of(variable).size() > many_; }
  const std::vector<int>& of(int variable) const { return neighbours_[static_cast<size_t>(variable)]; }

  // Entries of a table over the variable's neighbours.
  int64_t TableOf(int variable) const {
    int64_t entries = 1;
    for (const int other : of(variable)) {
      const int64_t size = domains_[static_cast<size_t>(other)];
      if (entries > kForbidden / size) return kForbidden;
      entries *= size;
    }
    return entries;
  }

  // Entries of the tables over pairs of neighbours that do not yet share a term.
  int64_t FillOf(int variable) const {
    const std::vector<int>& list = of(variable);
    if (has_many(variable)) return kForbidden;
    int64_t fill = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::vector<int>& own = of(list[i]);
      for (size_t j = i + 1; j < list.size(); ++j) {
        if (std::binary_search(own.begin(), own.end(), list[j])) continue;
        fill += int64_t{domains_[static_cast<size_t>(list[i])]} * domains_[static_cast<size_t>(list[j])];
      }
    }
    return fill;
  }

  // Eliminates the variable: its neighbours share a table from now on. Returns them.
  std::vector<int> Leave(int variable) {
    std::vector<int> around = std::move(neighbours_[static_cast<size_t>(variable)]);
    for (const int other : around) {
      std::vector<int>& list = neighbours_[static_cast<size_t>(other)];
      list.erase(std::lower_bound(list.begin(), list.end(), variable));
      for (const int third : around) {
        const auto place = std::lower_bound(list.begin(), list.end(), third);
        if (third != other && (place == list.end() || *place != third)) list.insert(place, third);
      }
    }
    return around;
  }

 private:
  const std::vector<int>& domains_;
  size_t many_;
  std::vector<std::vector<int>> neighbours_;  // Ascending.
};

int64_t KeyOf(const NeighbourGraph& graph, int variable, Greed greed) {
  switch (greed) {
    case Greed::kTable:
      return graph.TableOf(variable);
    case Greed::kFill:
      return graph.FillOf(variable);
    case Greed::kNumber:
      return variable;
  }
  return 0;
}

// The variables whose key may change when one with these neighbours is eliminated, ascending.
std::vector<int> Touched(const NeighbourGraph& graph, const std::vector<int>& around, Greed greed) {
  std::vector<int> touched = around;
  if (greed == Greed::kFill) {
    for (const int other : around) {
      const std::vector<int>& second = graph.of(other);
      if (!graph.has_many(other)) touched.insert(touched.end(), second.begin(), second.end());
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  }
  return touched;
}

EliminationOrder GreedyOrder(NeighbourGraph graph, int variable_count, Greed greed) {
  EliminationOrder order;
  std::vector<int64_t> keys(static_cast<size_t>(variable_count), -1);  // -1: eliminated.
  using Entry = std::pair<int64_t, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;  // With entries whose key is out of date.
  const auto update = [&](int variable) {
    const int64_t key = KeyOf(graph, variable, greed);
    int64_t& known = keys[static_cast<size_t>(variable)];
    if (known != key) queue.emplace(key, variable);
    known = key;
  };
  for (int v = 0; v < variable_count; ++v) {
    if (graph.counts(v)) update(v);
  }
  while (!queue.empty()) {
    const auto [key, variable] = queue.top();
    queue.pop();
    if (keys[static_cast<size_t>(variable)] != key) continue;
    keys[static_cast<size_t>(variable)] = -1;
    order.variables.push_back(variable);
    const int64_t table = graph.TableOf(variable);
    order.largest = std::max(order.largest, table);
    order.total = std::min(order.total + table, kForbidden);
    const std::vector<int> around = graph.Leave(variable);
    for (const int other : Touched(graph, around, greed)) update(other);
  }
  return order;
}

}  // namespace

EliminationOrder OrderByTable(const MinSum& problem, const EliminationLimits& limits) {
  return GreedyOrder(NeighbourGraph(problem, limits.many_neighbours), static_cast<int>(problem.domains.size()),
                     Greed::kTable);
}

EliminationOrder OrderOfElimination(const MinSum& problem, const EliminationLimits& limits) {
  const NeighbourGraph graph(problem, limits.many_neighbours);
  const int variable_count = static_cast<int>(problem.domains.size());
  EliminationOrder best = GreedyOrder(graph, variable_count, Greed::kTable);
  if (best.largest <= limits.small_table) return best;
  for (const Greed greed : {Greed::kFill, Greed::kNumber}) {
    EliminationOrder order = GreedyOrder(graph, variable_count, greed);
    if (std::pair(order.total, order.largest) < std::pair(best.total, best.largest)) best = std::move(order);
  }
  return best;
}

}  // namespace cleave::search
