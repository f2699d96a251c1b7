// Reading guide: each node of the search has decided some classes; the others are open. Where the step fits with all
// open classes kept, nothing below the node is faster. Else there is a place with too many live bytes, and open classes
// that free some of them there must be made again. The least time for that, if a part of a class could be made again in
// its part of the time, is a bound, and taking the classes by the bytes that they free in a second gives it (Dantzig,
// Discrete-Variable Extremum Problems, 1957). The class of which the bound takes only a part is decided next.
#include "search/knobs/recompute/branch_and_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace cleave::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Branching {
 public:
  Branching(const BranchTask& task, std::optional<Seconds> best, int64_t& outcomes)
      : task_(task),
        best_seconds_(best.has_value() ? best->value() : kNever),
        outcomes_(outcomes),
        decided_(task.decided) {}

  std::optional<ClassSet> Run() && {
    Visit();
    return std::move(best_);
  }

 private:
  // The least time below a node by one place, and the class to decide next.
  struct Demand {
    double seconds = 0;
    size_t next = 0;
  };
  struct Item {
    double bytes = 0;
    double seconds = 0;
    size_t own = 0;
  };

  ClassSet SetWith(bool open) const {
    ClassSet set(decided_.size());
    for (size_t c = 0; c < set.size(); ++c) set[c] = decided_[c].value_or(open);
    return set;
  }
  std::vector<bool> UnitsWith(bool open) const { return UnitsOf(task_.liveness, task_.classes, SetWith(open)); }

  void Visit() {
    std::vector<size_t> open;
    for (size_t c = 0; c < decided_.size(); ++c) {
      if (!decided_[c].has_value()) open.push_back(c);
    }
    outcomes_ -= 2 + static_cast<int64_t>(open.size());
    if (outcomes_ < 0) return;
    const auto bounded = task_.measure == nullptr ? Liveness::Bounded::kOutcome : Liveness::Bounded::kProgram;
    const Liveness::Bounds bounds = task_.liveness.BoundsOf(UnitsWith(false), UnitsWith(true), bounded);
    if (bounds.seconds.value() >= best_seconds_) return;
    std::optional<Demand> largest = LargestDemand(bounds, open);
    if (!largest.has_value()) {
      const bool fits = Keep(SetWith(false));
      if (open.empty() || (fits && bounds.gain == Seconds(0))) return;
      largest = Demand{.seconds = bounds.seconds.value(), .next = open.front()};
    }
    if (largest->seconds >= best_seconds_) return;
    for (const bool again : {true, false}) {
      decided_[largest->next] = again;
      Visit();
    }
    decided_[largest->next] = std::nullopt;
  }

  // Whether the set fits; then it is the best one if it is faster.
  bool Keep(const ClassSet& set) {
    const std::optional<Seconds> seconds = SecondsOf(set);
    if (!seconds.has_value()) return false;
    if (seconds->value() < best_seconds_) {
      best_seconds_ = seconds->value();
      best_ = set;
    }
    return true;
  }

  // nullopt where the set does not fit.
  std::optional<Seconds> SecondsOf(const ClassSet& set) {
    const std::vector<bool> units = UnitsOf(task_.liveness, task_.classes, set);
    if (task_.measure == nullptr) {
      const Outcome outcome = task_.liveness.Of(units, task_.limit);
      return outcome.peak <= task_.limit ? std::optional(outcome.seconds) : std::nullopt;
    }
    const auto [known, is_new] = measured_.emplace(task_.liveness.Needed(units), std::nullopt);
    if (is_new) known->second = task_.measure(set);
    return known->second;
  }

  // Of the place that demands most time; nullopt where the bounds are within the limit at all places.
  std::optional<Demand> LargestDemand(const Liveness::Bounds& bounds, const std::vector<size_t>& open) const {
    const size_t places = bounds.live.size();
    std::vector<Item> items;
    std::vector<std::vector<int64_t>> frees;  // By item and place.
    for (const size_t c : open) {
      items.push_back({.own = c});
      std::vector<int64_t>& own = frees.emplace_back(places + 1, 0);
      for (const int unit : task_.classes[c]) {
        items.back().seconds += bounds.units[static_cast<size_t>(unit)].seconds.value();
        AddFreed(bounds.units[static_cast<size_t>(unit)], own);
        for (const int copy : task_.liveness.units()[static_cast<size_t>(unit)].copies) {
          AddFreed(bounds.units[static_cast<size_t>(copy)], own);
        }
      }
      for (size_t place = 1; place < places; ++place) own[place] += own[place - 1];
    }
    std::optional<Demand> largest;
    for (size_t place = 0; place < places; ++place) {
      const int64_t beyond = bounds.live[place] - task_.limit.value();
      if (beyond <= 0) continue;
      for (size_t i = 0; i < items.size(); ++i) items[i].bytes = static_cast<double>(frees[i][place]);
      Demand demand = DemandOf(static_cast<double>(beyond), items);
      demand.seconds += bounds.seconds.value();
      if (!largest.has_value() || demand.seconds > largest->seconds) largest = demand;
    }
    return largest;
  }

  static void AddFreed(const Liveness::OpenUnit& unit, std::vector<int64_t>& change) {
    for (const Liveness::Interval& freed : unit.frees) {
      change[static_cast<size_t>(freed.begin)] += freed.size.value();
      change[static_cast<size_t>(freed.end) + 1] -= freed.size.value();
    }
  }

  // The least time of items, of which parts may be taken, that have so many bytes; never where all have less.
  static Demand DemandOf(double bytes, std::vector<Item> items) {
    items.erase(std::remove_if(items.begin(), items.end(), [](const Item& item) { return item.bytes <= 0; }),
                items.end());
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.seconds * b.bytes < b.seconds * a.bytes; });
    Demand demand;
    for (const Item& item : items) {
      const double part = std::min(1.0, bytes / item.bytes);
      demand.seconds += part * item.seconds;
      demand.next = item.own;
      bytes -= item.bytes;
      if (bytes <= 0) return demand;
    }
    return {.seconds = kNever};
  }

  const BranchTask& task_;
  double best_seconds_;
  int64_t& outcomes_;
  std::vector<std::optional<bool>> decided_;
  std::optional<ClassSet> best_;
  std::map<std::vector<bool>, std::optional<Seconds>> measured_;  // By the units that the backward pass needs.
};

}  // namespace

std::vector<bool> UnitsOf(const Liveness& liveness, const std::vector<UnitClass>& classes, const ClassSet& set) {
  std::vector<bool> units(liveness.units().size(), false);
  for (size_t c = 0; c < set.size(); ++c) {
    if (!set[c]) continue;
    for (const int unit : classes[c]) {
      units[static_cast<size_t>(unit)] = true;
      for (const int copy : liveness.units()[static_cast<size_t>(unit)].copies) units[static_cast<size_t>(copy)] = true;
    }
  }
  return units;
}

std::optional<ClassSet> FastestSet(const BranchTask& task, std::optional<Seconds> best, int64_t& outcomes) {
  return Branching(task, best, outcomes).Run();
}

}  // namespace cleave::search
