#include "search/stages/stages.h"

#include <algorithm>
#include <limits>

namespace cleave::search {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Sums of the first i numbers.
std::vector<double> Sums(const std::vector<double>& numbers) {
  std::vector<double> sums = {0};
  for (const double number : numbers) sums.push_back(sums.back() + number);
  return sums;
}

}  // namespace

std::vector<int64_t> BestCuts(const CutTask& task) {
  const size_t cuts = static_cast<size_t>(task.stages) - 1;
  const std::vector<CutPlace>& places = task.places;
  if (places.size() < cuts || cuts == 0) return {};
  const auto is_allowed = [&](size_t cut, size_t place) {
    return task.ranges.empty() || task.ranges[cut].Has(places[place].op);
  };
  const std::vector<double> sums = Sums(task.seconds);
  const auto between = [&](double begin_cost, size_t begin, double end_cost, size_t end) {
    return sums[end] - sums[begin] + begin_cost + end_cost;
  };
  // slowest[k][i]: of stages 0 to k, where stage k ends at place i; from[k][i]: where stage k begins.
  std::vector<std::vector<double>> slowest(cuts, std::vector<double>(places.size(), kNone));
  std::vector<std::vector<size_t>> from(cuts, std::vector<size_t>(places.size(), 0));
  for (size_t i = 0; i < places.size(); ++i) {
    if (!is_allowed(0, i)) continue;
    slowest[0][i] = between(0, 0, places[i].seconds, static_cast<size_t>(places[i].op));
  }
  for (size_t k = 1; k < cuts; ++k) {
    for (size_t i = k; i < places.size(); ++i) {
      if (!is_allowed(k, i)) continue;
      for (size_t j = k - 1; j < i; ++j) {
        const double last = between(places[j].seconds, static_cast<size_t>(places[j].op), places[i].seconds,
                                    static_cast<size_t>(places[i].op));
        const double time = std::max(slowest[k - 1][j], last);
        if (time >= slowest[k][i]) continue;
        slowest[k][i] = time;
        from[k][i] = j;
      }
    }
  }
  double best = kNone;
  size_t last = 0;
  for (size_t i = cuts - 1; i < places.size(); ++i) {
    const double rest = between(places[i].seconds, static_cast<size_t>(places[i].op), 0, task.seconds.size());
    const double time = std::max(slowest[cuts - 1][i], rest);
    if (time >= best) continue;
    best = time;
    last = i;
  }
  if (best == kNone) return {};
  std::vector<int64_t> result(cuts);
  for (size_t k = cuts; k-- > 0;) {
    result[k] = places[last].op;
    last = from[k][last];
  }
  return result;
}

double SlowestStage(const CutTask& task, const std::vector<int64_t>& cuts) {
  const std::vector<double> sums = Sums(task.seconds);
  const auto crossing = [&](int64_t op) {
    const auto place = std::find_if(task.places.begin(), task.places.end(),
                                    [&](const CutPlace& candidate) { return candidate.op == op; });
    return place == task.places.end() ? 0 : place->seconds;
  };
  double slowest = 0, begin_cost = 0;
  size_t begin = 0;
  for (size_t stage = 0; stage <= cuts.size(); ++stage) {
    const bool is_last = stage == cuts.size();
    const size_t end = is_last ? task.seconds.size() : static_cast<size_t>(cuts[stage]);
    const double end_cost = is_last ? 0 : crossing(cuts[stage]);
    slowest = std::max(slowest, sums[end] - sums[begin] + begin_cost + end_cost);
    begin = end;
    begin_cost = end_cost;
  }
  return slowest;
}

std::vector<CutPlace> NarrowPlaces(const std::vector<CutPlace>& crossing, const std::vector<CutRange>& ranges) {
  std::vector<bool> is_narrow(crossing.size());
  for (size_t i = 0; i < crossing.size(); ++i) {
    const bool before = i == 0 || crossing[i - 1].seconds >= crossing[i].seconds;
    const bool behind = i + 1 == crossing.size() || crossing[i + 1].seconds >= crossing[i].seconds;
    is_narrow[i] = before && behind;
  }
  std::vector<bool> is_taken = is_narrow;
  for (const CutRange& range : ranges) {
    bool has_narrow = false;
    for (size_t i = 0; i < crossing.size(); ++i) has_narrow = has_narrow || (is_narrow[i] && range.Has(crossing[i].op));
    for (size_t i = 0; i < crossing.size() && !has_narrow; ++i) is_taken[i] = is_taken[i] || range.Has(crossing[i].op);
  }
  std::vector<CutPlace> places;
  for (size_t i = 0; i < crossing.size(); ++i) {
    if (is_taken[i]) places.push_back(crossing[i]);
  }
  return places;
}

std::vector<CutRange> RangesOf(const std::vector<PinnedOp>& pinned, int64_t ops, int stages) {
  std::vector<CutRange> ranges;
  for (int64_t stage = 1; stage < stages; ++stage) {
    CutRange range{.first = stage, .last = ops - stages + stage};
    for (const PinnedOp& pin : pinned) {
      if (pin.stage < stage) range.first = std::max(range.first, pin.op + 1);
      if (pin.stage >= stage) range.last = std::min(range.last, pin.op);
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace cleave::search
