// Reading guide: Cheapest starts from minimum cuts (BestFor: bytes against time, at several prices of a byte), goes
// from the nearest ones to sets that fit (Descend), improves these (Improve), and then looks for a faster set by branch
// and bound (FasterThan). KeepLastLayers lets the last layers differ. Smallest repeats this for lower and lower limits.
#include "search/knobs/recompute/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "search/knobs/recompute/cut.h"

namespace cleave::search {
namespace {

// Whether `a` is better than `b`: less above the limit, then faster.
bool IsBetter(const Outcome& a, const Outcome& b) {
  return std::tie(a.excess, a.seconds) < std::tie(b.excess, b.seconds);
}

// Enough for local search over the classes of a layer, however many layers there are.
constexpr int64_t kLeastOutcomes = 2048;

bool Fits(const Outcome& outcome) { return outcome.excess == 0; }

}  // namespace

Chooser::Chooser(const Liveness& liveness, int64_t work)
    : liveness_(liveness),
      outcomes_(std::max<int64_t>(kLeastOutcomes, work / liveness.size())),
      class_of_(liveness.units().size(), -1) {
  using Member = std::pair<ir::LoopPasses, int>;
  std::map<std::tuple<std::vector<ir::TextPlace>, ir::Retention, std::optional<bool>>, std::vector<Member>> classes;
  for (size_t u = 0; u < liveness.units().size(); ++u) {
    const Unit& unit = liveness.units()[u];
    if (liveness.forward()[static_cast<size_t>(unit.stages.front())].unit < 0) continue;
    std::vector<ir::TextPlace> places;
    ir::LoopPasses passes;
    for (const int stage : unit.stages) {
      const Liveness::ForwardStage& own = liveness.forward()[static_cast<size_t>(stage)];
      places.push_back(own.text);
      if (passes.empty()) passes = own.passes;
    }
    classes[{std::move(places), unit.retention, unit.asked}].emplace_back(std::move(passes), static_cast<int>(u));
  }
  std::map<int, UnitClass> in_order;  // By the first unit.
  for (auto& [key, members] : classes) {
    std::sort(members.begin(), members.end());
    UnitClass own;
    for (const auto& [passes, unit] : members) own.push_back(unit);
    in_order[*std::min_element(own.begin(), own.end())] = std::move(own);
  }
  for (auto& [first, members] : in_order) {
    for (const int unit : members) class_of_[static_cast<size_t>(unit)] = static_cast<int>(classes_.size());
    asked_.push_back(liveness.units()[static_cast<size_t>(first)].asked);
    classes_.push_back(std::move(members));
  }
  for (const UnitClass& members : classes_) {
    std::vector<size_t>& sources = sources_.emplace_back();
    for (const int unit : members) {
      for (const int stage : liveness.units()[static_cast<size_t>(unit)].stages) {
        for (const int value : liveness.forward()[static_cast<size_t>(stage)].reads) {
          const Liveness::Stored& read = liveness.values()[static_cast<size_t>(value)];
          if (read.made_by < 0 || read.backward_end >= 0) continue;
          const int maker = liveness.forward()[static_cast<size_t>(read.made_by)].unit;
          if (maker >= 0) sources.push_back(static_cast<size_t>(class_of_[static_cast<size_t>(maker)]));
        }
      }
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  }
}

Outcome Chooser::Of(const Set& set, Bytes limit) {
  --outcomes_left_;
  const auto [found, is_new] = known_[limit].try_emplace(set);
  if (is_new) found->second = liveness_.Of(UnitsOf(set), limit);
  return found->second;
}

Chooser::Set Chooser::AsAskedSet() const {
  Set set(classes_.size());
  for (size_t c = 0; c < set.size(); ++c) set[c] = asked_[c].value_or(false);
  return set;
}

// The set with the least sum of recomputation time and of the bytes that wait, at this price, as a minimum cut: a value
// is on the source's side if the backward pass reads it or makes something from it again. It is then kept, or its
// kernel is on that side too, with its inputs. Where most layers of a class are made again, all are.
Chooser::Set Chooser::BestFor(double seconds_per_byte) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector<Liveness::Stored>& values = liveness_.values();
  const std::vector<Liveness::ForwardStage>& forward = liveness_.forward();
  const int first_stage = 2 + static_cast<int>(values.size());
  FlowNetwork network(first_stage + static_cast<int>(forward.size()));
  const auto can_be_made_again = [&](int stage) { return stage >= 0 && forward[static_cast<size_t>(stage)].unit >= 0; };
  for (size_t v = 0; v < values.size(); ++v) {
    if (!can_be_made_again(values[v].made_by)) continue;
    const int node = 2 + static_cast<int>(v);
    if (values[v].backward_end >= 0) network.Add(FlowNetwork::kSource, node, kNever);
    network.Add(node, first_stage + values[v].made_by, seconds_per_byte * static_cast<double>(values[v].size.value()));
  }
  for (size_t s = 0; s < forward.size(); ++s) {
    if (forward[s].unit < 0) continue;
    const int node = first_stage + static_cast<int>(s);
    network.Add(node, FlowNetwork::kSink, forward[s].seconds.value());
    for (const int value : forward[s].reads) {
      if (can_be_made_again(values[static_cast<size_t>(value)].made_by)) network.Add(node, 2 + value, kNever);
    }
  }
  const std::vector<bool> side = network.SourceSide();
  std::vector<size_t> again(classes_.size(), 0);
  for (size_t s = 0; s < forward.size(); ++s) {
    if (forward[s].unit < 0 || !side[static_cast<size_t>(first_stage) + s]) continue;
    ++again[static_cast<size_t>(class_of_[static_cast<size_t>(forward[s].unit)])];
  }
  Set set = AsAskedSet();
  for (size_t c = 0; c < set.size(); ++c) {
    if (IsFree(c)) set[c] = 2 * again[c] > classes_[c].size();
  }
  return set;
}

// What the user asks for, and BestFor prices around that at which all bytes cost as much as all forward time.
const std::vector<Chooser::Set>& Chooser::Starts() {
  if (!starts_.empty()) return starts_;
  double bytes = 1, seconds = 0;
  for (const Liveness::Stored& value : liveness_.values()) {
    if (value.made_by >= 0) bytes += static_cast<double>(value.size.value());
  }
  for (const Liveness::ForwardStage& stage : liveness_.forward()) seconds += stage.seconds.value();
  starts_ = {AsAskedSet()};
  for (int exponent = -6; exponent <= 6; ++exponent) {
    Set set = BestFor(std::exp2(exponent) * seconds / bytes);
    if (std::find(starts_.begin(), starts_.end(), set) == starts_.end()) starts_.push_back(std::move(set));
  }
  return starts_;
}

// Adds a class to the set, with the classes that make its inputs for it alone.
void Chooser::AddWithSources(size_t c, Set& set) const {
  if (set[c] || !IsFree(c)) return;
  set[c] = true;
  for (const size_t source : sources_[c]) AddWithSources(source, set);
}

// Sets with one class more, or one less.
std::vector<Chooser::Set> Chooser::Neighbours(const Set& set) const {
  std::vector<Set> neighbours;
  for (size_t c = 0; c < set.size(); ++c) {
    if (!IsFree(c)) continue;
    Set other = set;
    other[c] = !set[c];
    neighbours.push_back(other);
    if (set[c]) continue;
    Set with_sources = set;
    AddWithSources(c, with_sources);
    if (with_sources != other) neighbours.push_back(std::move(with_sources));
  }
  return neighbours;
}

// Whether all sets can be looked at with a small part of the work.
bool Chooser::IsSmall() const {
  const auto free = std::count(asked_.begin(), asked_.end(), std::nullopt);
  return free < 20 && int64_t{64} << free <= outcomes_;
}

// FastestSet with the work that is left.
std::optional<Chooser::Set> Chooser::FasterThan(std::optional<Seconds> best, Bytes limit) {
  return FastestSet({.liveness = liveness_, .classes = classes_, .decided = asked_, .limit = limit}, best,
                    outcomes_left_);
}

// Moves to the neighbour that frees most bytes per second until the set fits; nullopt where no neighbour is better.
std::optional<Chooser::Set> Chooser::Descend(Set set, Bytes limit) {
  Outcome own = Of(set, limit);
  while (!Fits(own)) {
    if (outcomes_left_ <= 0) return std::nullopt;
    std::optional<std::pair<double, Set>> best;
    Outcome best_outcome;
    for (Set& other : Neighbours(set)) {
      const Outcome outcome = Of(other, limit);
      if (outcome.excess >= own.excess) continue;
      // Freeing memory while saving time is best of all.
      constexpr double kNoTime = 1e-15;
      const double seconds = std::max(kNoTime, (outcome.seconds - own.seconds).value());
      const double gain = (own.excess - outcome.excess) / seconds;
      if (best.has_value() && gain <= best->first) continue;
      best = {gain, std::move(other)};
      best_outcome = outcome;
    }
    if (!best.has_value()) return std::nullopt;
    set = std::move(best->second);
    own = best_outcome;
  }
  return set;
}

// Removes a class from the set, or replaces it by another, as long as the set fits and becomes faster.
void Chooser::Improve(Bytes limit, Set& set) {
  Outcome own = Of(set, limit);
  const auto take = [&](const Set& other) {
    const Outcome outcome = Of(other, limit);
    if (!Fits(outcome) || outcome.seconds >= own.seconds) return false;
    own = outcome;
    set = other;
    return true;
  };
  for (bool improved = true; improved;) {
    improved = false;
    for (size_t c = 0; c < set.size(); ++c) {
      if (!set[c] || !IsFree(c) || outcomes_left_ <= 0) continue;
      Set without = set;
      without[c] = false;
      if (take(without)) {
        improved = true;
        continue;
      }
      for (const Set& other : Neighbours(without)) {
        if (other == set || !take(other)) continue;
        improved = true;
        break;
      }
    }
  }
}

// Lets the last layers, which the backward pass reads first, keep one class, or all classes, if that fits and is
// faster.
std::vector<bool> Chooser::KeepLastLayers(const Set& set, Bytes limit) const {
  const std::vector<bool> all = UnitsOf(set);
  // A layer that stands for several must be treated as the layers next to it.
  if (liveness_.StandsForMore()) return all;
  std::vector<bool> best = all;
  Seconds least = liveness_.Of(all, limit).seconds;
  // Classes `begin` to `end` are made again in the first layers only.
  const auto keep = [&](size_t begin, size_t end) {
    size_t enough = 0;
    for (size_t c = begin; c < end; ++c) {
      if (set[c] && IsFree(c)) enough = std::max(enough, classes_[c].size());
    }
    if (enough < 2) return;
    const auto with_first = [&](size_t layers) {
      std::vector<bool> own = all;
      for (size_t c = begin; c < end; ++c) {
        if (!IsFree(c) || classes_[c].size() < 2) continue;
        for (size_t i = layers; i < classes_[c].size(); ++i) own[static_cast<size_t>(classes_[c][i])] = false;
      }
      return own;
    };
    size_t too_few = 0;
    while (enough - too_few > 1) {
      const size_t middle = (too_few + enough) / 2;
      (Fits(liveness_.Of(with_first(middle), limit)) ? enough : too_few) = middle;
    }
    std::vector<bool> own = with_first(enough);
    const Outcome outcome = liveness_.Of(own, limit);
    if (!Fits(outcome) || outcome.seconds >= least) return;
    least = outcome.seconds;
    best = std::move(own);
  };
  keep(0, set.size());
  for (size_t c = 0; c < set.size(); ++c) keep(c, c + 1);
  return best;
}

std::optional<std::vector<bool>> Chooser::Cheapest(Bytes limit) {
  outcomes_left_ = outcomes_;
  if (const Set nothing = AsAskedSet(); Fits(Of(nothing, limit))) return UnitsOf(nothing);
  if (IsSmall()) {
    const std::optional<Set> fastest = FasterThan(std::nullopt, limit);
    return fastest.has_value() ? std::optional(KeepLastLayers(*fastest, limit)) : std::nullopt;
  }
  std::optional<Set> best;
  // A set for a lower limit may be a better start.
  for (const Bytes tight : {limit, Bytes(limit.value() / 16 * 15), Bytes(limit.value() / 8 * 7)}) {
    for (const Set& start : NearestStarts(tight)) {
      std::optional<Set> found = Descend(start, tight);
      if (!found.has_value()) continue;
      Improve(limit, *found);
      if (!best.has_value() || IsBetter(Of(*found, limit), Of(*best, limit))) best = std::move(found);
    }
  }
  std::optional<Seconds> seconds;
  if (best.has_value()) seconds = Of(*best, limit).seconds;
  const std::optional<Set> faster = FasterThan(seconds, limit);
  if (!best.has_value() && !faster.has_value()) return std::nullopt;
  // Where layers differ, the slower set may become the faster one.
  std::vector<bool> own = KeepLastLayers(best.has_value() ? *best : *faster, limit);
  if (!faster.has_value()) return own;
  std::vector<bool> other = KeepLastLayers(*faster, limit);
  return liveness_.Of(own, limit).seconds < liveness_.Of(other, limit).seconds ? own : other;
}

void Chooser::MeasureFasterThan(std::optional<Seconds> best, Bytes limit, const Measure& measure) {
  outcomes_left_ = outcomes_;
  const BranchTask task{
      .liveness = liveness_, .classes = classes_, .decided = asked_, .limit = limit, .measure = [&](const Set& set) {
        return measure(UnitsOf(set));
      }};
  FastestSet(task, best, outcomes_left_);
}

// The starts that need least improvement: first those that fit, by their time, then those nearest to it.
std::vector<Chooser::Set> Chooser::NearestStarts(Bytes limit) {
  std::vector<std::pair<Outcome, Set>> starts;
  for (const Set& start : Starts()) starts.emplace_back(Of(start, limit), start);
  std::stable_sort(starts.begin(), starts.end(),
                   [](const auto& a, const auto& b) { return IsBetter(a.first, b.first); });
  std::vector<Set> nearest;
  for (auto& [outcome, set] : starts) nearest.push_back(std::move(set));
  return nearest;
}

Bytes Chooser::LeastPeak() const {
  Set most = AsAskedSet();
  for (size_t c = 0; c < most.size(); ++c) most[c] = asked_[c].value_or(true);
  return liveness_.BoundsOf(UnitsOf(AsAskedSet()), UnitsOf(most)).LeastPeak();
}

std::vector<bool> Chooser::Smallest() {
  outcomes_left_ = outcomes_;
  Set smallest = AsAskedSet();
  Bytes peak = Of(smallest, Bytes(0)).peak;
  const auto take = [&](Set set) {
    const Bytes own = Of(set, Bytes(0)).peak;
    if (own >= peak) return;
    peak = own;
    smallest = std::move(set);
  };
  if (!IsSmall()) {
    for (const Set& start : Starts()) take(start);
  }
  // Lowers the limit step by step.
  for (int64_t part = 8; part <= 64 && !IsSmall();) {
    const Bytes limit(peak.value() - peak.value() / part);
    std::optional<Set> found = Descend(smallest, limit);
    const std::vector<Set> starts = found.has_value() ? std::vector<Set>() : NearestStarts(limit);
    for (auto start = starts.begin(); start != starts.end() && !found.has_value(); ++start) {
      found = Descend(*start, limit);
    }
    if (found.has_value()) {
      take(*std::move(found));
    } else {
      part *= 2;
    }
  }
  for (Bytes least = LeastPeak(); least < peak;) {
    const Bytes middle((least.value() + peak.value()) / 2);
    if (std::optional<Set> smaller = FasterThan(std::nullopt, middle)) {
      take(*std::move(smaller));
    } else {
      least = middle + Bytes(1);
    }
  }
  const Seconds seconds = Of(smallest, peak).seconds;
  if (std::optional<Set> faster = FasterThan(seconds, peak)) smallest = *std::move(faster);
  return UnitsOf(smallest);
}

}  // namespace cleave::search
