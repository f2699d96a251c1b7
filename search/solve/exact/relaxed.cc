#include "search/solve/exact/relaxed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace cleave::search {

ir::Layout CanonicalLayout(const std::vector<AxisClass>& classes, const ir::Layout& layout) {
  ir::Layout result = layout;
  for (ir::AxisList& axes : result.dimensions) axes.clear();
  result.partial.clear();
  for (const AxisClass& own : classes) {
    size_t next = 0;
    const auto is_own = [&](ir::AxisId axis) {
      return std::find(own.axes.begin(), own.axes.end(), axis) != own.axes.end();
    };
    for (size_t d = 0; d < layout.dimensions.size(); ++d) {
      for (ir::AxisId axis : layout.dimensions[d]) {
        if (is_own(axis)) result.dimensions[d].push_back(own.axes[next++]);
      }
    }
    for (const ir::PartialAxis& partial : layout.partial) {
      if (is_own(partial.axis)) result.partial.push_back({.axis = own.axes[next++], .reduction = partial.reduction});
    }
  }
  std::sort(result.partial.begin(), result.partial.end(),
            [](const ir::PartialAxis& a, const ir::PartialAxis& b) { return a.axis < b.axis; });
  return result;
}

RelaxedPrices::State RelaxedPrices::StateOf(const ir::Layout& layout) const {
  State state;
  for (const AxisClass& own : classes_) {
    const auto is_own = [&](ir::AxisId axis) {
      return std::find(own.axes.begin(), own.axes.end(), axis) != own.axes.end();
    };
    for (const ir::AxisList& axes : layout.dimensions) {
      state.push_back(static_cast<uint8_t>(std::count_if(axes.begin(), axes.end(), is_own)));
    }
    state.push_back(
        static_cast<uint8_t>(std::count_if(layout.partial.begin(), layout.partial.end(),
                                           [&](const ir::PartialAxis& partial) { return is_own(partial.axis); })));
  }
  return state;
}

int64_t RelaxedPrices::StateCount(int rank) const {
  double count = 1;
  for (const AxisClass& own : classes_) {
    // Axes into rank + 2 places (dimensions, partial, replicated): choose(n + rank + 1, rank + 1).
    for (int i = 1; i <= rank + 1; ++i) count = count * (static_cast<double>(own.axes.size()) + i) / i;
  }
  return std::llround(count);
}

RelaxedPrices::Space& RelaxedPrices::SpaceOf(int rank) {
  const auto [found, is_new] = spaces_.try_emplace(rank);
  Space& space = found->second;
  if (!is_new) return space;
  const size_t places = static_cast<size_t>(rank) + 1;
  State state(classes_.size() * places, 0);
  const std::function<void(size_t, size_t)> fill = [&](size_t place, size_t left) {
    if (place == state.size()) {
      double local = 1;
      for (size_t c = 0; c < classes_.size(); ++c) {
        for (size_t d = 0; d + 1 < places; ++d) {
          local /= std::pow(static_cast<double>(classes_[c].size), state[c * places + d]);
        }
      }
      space.index.emplace(state, static_cast<int>(space.states.size()));
      space.states.push_back(state);
      space.local.push_back(local);
      return;
    }
    const size_t own_left = place % places == 0 ? classes_[place / places].axes.size() : left;
    for (size_t count = 0; count <= own_left; ++count) {
      state[place] = static_cast<uint8_t>(count);
      fill(place + 1, own_left - count);
    }
    state[place] = 0;
  };
  fill(0, 0);
  return space;
}

// The moves of ir/program/redistribute over counts. A gather or reduce-scatter over several axes costs as much as one
// axis after the other (slowest link first, last), an all-to-all over several classes as one class after the other.
template <typename Reach>
void RelaxedPrices::Moves(const Space& space, int from, int rank, const Reach& reach) const {
  const State& state = space.states[static_cast<size_t>(from)];
  const double local = space.local[static_cast<size_t>(from)];
  const size_t places = static_cast<size_t>(rank) + 1;
  State next = state;
  for (size_t c = 0; c < classes_.size(); ++c) {
    const AxisClass& own = classes_[c];
    const size_t begin = c * places, partial = begin + places - 1;
    size_t used = 0;
    for (size_t i = begin; i <= partial; ++i) used += state[i];
    const double n = static_cast<double>(own.size);
    for (size_t d = begin; d < partial; ++d) {
      if (used < own.axes.size()) {  // slice
        ++next[d];
        reach(next, 0.0);
        --next[d];
      }
      if (state[d] > 0) {  // all_gather
        --next[d];
        reach(next, (n - 1) / n * local * n * own.weight);
        ++next[d];
      }
      if (state[partial] > 0) {  // reduce_scatter
        ++next[d], --next[partial];
        reach(next, (n - 1) / n * local * own.weight);
        --next[d], ++next[partial];
      }
      double ranks = 1;
      for (size_t k = 1; k <= state[d]; ++k) {  // all_to_all
        ranks *= n;
        for (size_t e = begin; e < partial; ++e) {
          if (e == d) continue;
          next[d] = static_cast<uint8_t>(next[d] - k), next[e] = static_cast<uint8_t>(next[e] + k);
          reach(next, (ranks - 1) / ranks * local * own.weight);
          next[d] = static_cast<uint8_t>(next[d] + k), next[e] = static_cast<uint8_t>(next[e] - k);
        }
      }
    }
  }
  // all_reduce, over any of the partial axes: the cheapest link carries the whole tensor, each more expensive one the
  // part that is left.
  std::vector<size_t> by_weight;
  for (size_t c = 0; c < classes_.size(); ++c) by_weight.push_back(c);
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](size_t a, size_t b) { return classes_[a].weight < classes_[b].weight; });
  const std::function<void(size_t, double, double)> reduce = [&](size_t i, double left, double cost) {
    if (i == by_weight.size()) {
      if (cost > 0) reach(next, cost);
      return;
    }
    const AxisClass& own = classes_[by_weight[i]];
    const size_t partial = by_weight[i] * places + places - 1;
    double ranks = 1;
    for (size_t k = 0; k <= state[partial]; ++k, ranks *= static_cast<double>(own.size)) {
      next[partial] = static_cast<uint8_t>(state[partial] - k);
      reduce(i + 1, left / ranks, cost + 2 * (ranks - 1) / ranks * left * own.weight);
    }
    next[partial] = state[partial];
  };
  reduce(0, local, 0);
}

const std::vector<double>& RelaxedPrices::DistancesFrom(Space& space, int source, int rank) {
  const auto [found, is_new] = space.distances.try_emplace(source);
  std::vector<double>& distance = found->second;
  if (!is_new) return distance;
  distance.assign(space.states.size(), std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  distance[static_cast<size_t>(source)] = 0;
  queue.push({0, source});
  while (!queue.empty()) {
    const double cost = queue.top().first;
    const int here = queue.top().second;
    queue.pop();
    if (cost > distance[static_cast<size_t>(here)]) continue;
    Moves(space, here, rank, [&](const State& next, double price) {
      const int there = space.index.at(next);
      double& known = distance[static_cast<size_t>(there)];
      if (cost + price >= known) return;
      known = cost + price;
      queue.push({known, there});
    });
  }
  return distance;
}

double RelaxedPrices::AtLeast(const ir::Layout& source, const ir::Layout& target) {
  const int rank = static_cast<int>(source.dimensions.size());
  Space& space = SpaceOf(rank);
  const std::vector<double>& distance = DistancesFrom(space, space.index.at(StateOf(source)), rank);
  return distance[static_cast<size_t>(space.index.at(StateOf(target)))];
}

}  // namespace cleave::search
