// Reading guide: Cutter::LeastSum is the dynamic programme: the cuts with the least sum whose maxima, the slowest stage
// and the latest update, are within bounds. Best looks for these bounds by branch and bound (Look), from those for the
// fastest slowest stage (LeastSlowest). An `end` is a place where a stage may end: 0 is the beginning of the list, then
// the cut points, then the end of the list.
#include "search/solve/stages/stages.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace cleave::search {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Precision of BestCuts, as a share of the step.
constexpr double kClose = 1e-4;
// Sums of the same numbers in another order differ in the last bits.
constexpr double kRounding = 1 + 1e-9;

// The terms of a step's time (stages.h) for one stage or for some cuts: sum_s t_s, max_s t_s, and the latest update.
struct Times {
  double sum = 0;
  double slowest = 0;
  double late = 0;
};

class Cutter {
 public:
  explicit Cutter(const CutTask& task)
      : task_(task),
        cuts_(static_cast<size_t>(task.stages) - 1),
        ends_(task.places.size() + 2),
        seconds_(SumsTo(task.seconds)),
        backward_(SumsTo(task.backward)),
        once_(SumsTo(task.once)),
        sent_(ends_, 0.0) {
    for (size_t place = 0; place < task.places.size(); ++place) sent_[place + 1] = task.places[place].seconds;
  }

  std::vector<int64_t> Best() && {
    if (task_.places.size() < cuts_ || cuts_ == 0) return {};
    const double least = LeastSlowest();
    const std::optional<Way> fastest = LeastSum({.slowest = least, .late = kNone});
    if (!fastest.has_value()) return {};
    Take(*fastest);
    // A step with a slower stage than this takes longer in any case.
    const double slowest = Others() > 0 ? (StepOf(fastest->times) - seconds_.back()) / Others() : kNone;
    const std::optional<Way> any = LeastSum({.slowest = slowest, .late = kNone});
    Take(*any);
    const double most = std::min(slowest, any->times.sum + *std::max_element(sent_.begin(), sent_.end()));
    Look({.at_least = {.slowest = least, .late = 0},
          .at_most = {.sum = any->times.sum, .slowest = most, .late = once_.back()}});
    return OpsAt(best_.cuts);
  }

  // The cuts with the least sum of those whose slowest stage is the fastest.
  std::vector<int64_t> OfLeastSlowest() && {
    if (task_.places.size() < cuts_ || cuts_ == 0) return {};
    const std::optional<Way> way = LeastSum({.slowest = LeastSlowest(), .late = kNone});
    return way.has_value() ? OpsAt(way->cuts) : std::vector<int64_t>();
  }

  double StepOf(const std::vector<int64_t>& cuts) const {
    std::vector<size_t> ends;
    for (const int64_t op : cuts) ends.push_back(EndAt(op));
    return StepOf(TimesOf(ends));
  }

 private:
  struct Way {
    Times times;
    std::vector<size_t> cuts = {};
  };
  // Cuts whose maxima are between these; `at_most.sum` is a lower bound of their sums.
  struct Box {
    Times at_least, at_most;
  };

  int64_t OpAt(size_t end) const {
    if (end == 0) return 0;
    return end + 1 == ends_ ? static_cast<int64_t>(task_.seconds.size()) : task_.places[end - 1].op;
  }
  std::vector<int64_t> OpsAt(const std::vector<size_t>& ends) const {
    std::vector<int64_t> ops;
    for (const size_t end : ends) ops.push_back(OpAt(end));
    return ops;
  }
  size_t EndAt(int64_t op) const {
    const auto place = std::find_if(task_.places.begin(), task_.places.end(),
                                    [&](const CutPlace& candidate) { return candidate.op == op; });
    return static_cast<size_t>(place - task_.places.begin()) + 1;
  }
  // Whether a stage, counted from 0, can end there.
  bool CanEnd(size_t stage, size_t end) const {
    if (stage == cuts_ || end + 1 == ends_) return stage == cuts_ && end + 1 == ends_;
    return end > stage && (task_.ranges.empty() || task_.ranges[stage].Has(OpAt(end)));
  }
  // By end: the sum of `numbers` of the ops in front of it; empty: 0.
  std::vector<double> SumsTo(const std::vector<double>& numbers) const {
    std::vector<double> sums;
    double sum = 0;
    size_t op = 0;
    for (size_t end = 0; end < ends_; ++end) {
      for (; op < static_cast<size_t>(OpAt(end)); ++op) sum += numbers.empty() ? 0 : numbers[op];
      sums.push_back(sum);
    }
    return sums;
  }

  // Of one stage.
  Times TimesBetween(size_t begin, size_t end) const {
    const double seconds = seconds_[end] - seconds_[begin];
    const double waiting = (sent_[begin] + sent_[end]) * task_.waiting;
    return {.sum = seconds + sent_[end],
            .slowest = seconds + waiting,
            .late = once_[end] - once_[begin] - backward_[begin]};
  }
  Times TimesOf(const std::vector<size_t>& cuts) const {
    Times all;
    size_t begin = 0;
    for (size_t stage = 0; stage <= cuts.size(); ++stage) {
      const size_t end = stage == cuts.size() ? ends_ - 1 : cuts[stage];
      const Times own = TimesBetween(begin, end);
      all.sum += own.sum;
      all.slowest = std::max(all.slowest, own.slowest);
      all.late = std::max(all.late, own.late);
      begin = end;
    }
    return all;
  }
  double Others() const { return static_cast<double>(task_.micro_batches - 1); }
  double StepOf(const Times& times) const { return times.sum + Others() * times.slowest + times.late; }

  // The least time of the slowest stage of any cuts; kNone where there are none. Tries nearly equal stages first, which
  // leaves few cut points to look at.
  double LeastSlowest() const {
    const double equal = seconds_.back() / static_cast<double>(cuts_ + 1);
    for (const double times : {1.02, 1.1, 1.5}) {
      const double least = LeastSlowest(times * equal);
      if (least < kNone) return least;
    }
    return LeastSlowest(kNone);
  }

  // The same for cuts in which no stage exceeds `most`.
  double LeastSlowest(double most) const {
    std::vector<double> slowest(ends_, kNone);  // Of the stages so far, of which the last one ends there.
    slowest[0] = 0;
    for (size_t stage = 0; stage <= cuts_; ++stage) {
      std::vector<double> next(ends_, kNone);
      const auto [first, last] = EndsWithin(stage, most);
      for (size_t end = first; end < last; ++end) {
        if (!CanEnd(stage, end)) continue;
        for (size_t begin = end; begin-- > 0;) {
          if (seconds_[end] - seconds_[begin] >= std::min(next[end], most * kRounding)) break;
          const double own = TimesBetween(begin, end).slowest;
          if (own <= most) next[end] = std::min(next[end], std::max(slowest[begin], own));
        }
      }
      slowest = std::move(next);
    }
    return slowest.back();
  }

  // The range [first, last) of ends of a stage with which neither the stages so far nor those behind exceed `most`
  // each.
  std::pair<size_t, size_t> EndsWithin(size_t stage, double most) const {
    if (most == kNone) return {stage + 1, ends_};
    const double first = seconds_.back() - static_cast<double>(cuts_ - stage) * most * kRounding;
    const double last = static_cast<double>(stage + 1) * most * kRounding;
    const auto begin = std::lower_bound(seconds_.begin(), seconds_.end(), first);
    const auto end = std::upper_bound(seconds_.begin(), seconds_.end(), last);
    return {std::max(stage + 1, static_cast<size_t>(begin - seconds_.begin())),
            static_cast<size_t>(end - seconds_.begin())};
  }

  // The cuts with the least sum in which no stage exceeds the bounds; nullopt where there are none.
  std::optional<Way> LeastSum(const Times& bounds) const {
    // sum[k][i]: of stages 0 to k, where stage k ends at i; from[k][i]: where stage k begins.
    std::vector<std::vector<double>> sum(cuts_ + 1, std::vector<double>(ends_, kNone));
    std::vector<std::vector<size_t>> from(cuts_ + 1, std::vector<size_t>(ends_, 0));
    const auto reach = [&](size_t stage, size_t begin, size_t end, double before) {
      const Times own = TimesBetween(begin, end);
      if (own.slowest > bounds.slowest || own.late > bounds.late || before + own.sum >= sum[stage][end]) return;
      sum[stage][end] = before + own.sum;
      from[stage][end] = begin;
    };
    for (size_t stage = 0; stage <= cuts_; ++stage) {
      const auto [first, last] = EndsWithin(stage, bounds.slowest);
      for (size_t end = first; end < last; ++end) {
        if (!CanEnd(stage, end)) continue;
        if (stage == 0) reach(stage, 0, end, 0);
        for (size_t begin = end; stage > 0 && begin-- > stage;) {
          if (seconds_[end] - seconds_[begin] > bounds.slowest) break;
          if (sum[stage - 1][begin] < kNone) reach(stage, begin, end, sum[stage - 1][begin]);
        }
      }
    }
    if (sum[cuts_][ends_ - 1] == kNone) return std::nullopt;
    Way way;
    size_t end = ends_ - 1;
    for (size_t stage = cuts_; stage > 0; --stage) way.cuts.push_back(end = from[stage][end]);
    std::reverse(way.cuts.begin(), way.cuts.end());
    way.times = TimesOf(way.cuts);
    return way;
  }

  void Take(const Way& way) {
    if (best_.cuts.empty() || StepOf(way.times) < StepOf(best_.times)) best_ = way;
  }

  // Branch and bound: halves the box along the maximum with more to gain.
  void Look(const Box& box) {
    const double at_least = box.at_most.sum + Others() * box.at_least.slowest + box.at_least.late;
    if (at_least >= StepOf(best_.times) * (1 - kClose)) return;
    const bool by_slowest =
        Others() * (box.at_most.slowest - box.at_least.slowest) > box.at_most.late - box.at_least.late;
    double Times::*const halved = by_slowest ? &Times::slowest : &Times::late;
    Times middle = box.at_most;
    middle.*halved = (box.at_least.*halved + box.at_most.*halved) / 2;
    Box upper = box;
    upper.at_least.*halved = middle.*halved;
    if (const std::optional<Way> way = LeastSum(middle)) {
      Take(*way);
      middle.sum = way->times.sum;
      Look({.at_least = box.at_least, .at_most = middle});
    }
    Look(upper);
  }

  const CutTask& task_;
  const size_t cuts_, ends_;
  const std::vector<double> seconds_, backward_, once_;  // By end: SumsTo.
  std::vector<double> sent_;                             // By end.
  Way best_;
};

}  // namespace

std::vector<int64_t> BestCuts(const CutTask& task) { return Cutter(task).Best(); }

std::vector<int64_t> CutsOfLeastSlowest(const CutTask& task) { return Cutter(task).OfLeastSlowest(); }

double StepOfCuts(const CutTask& task, const std::vector<int64_t>& cuts) { return Cutter(task).StepOf(cuts); }

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
