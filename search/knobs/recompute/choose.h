// Chooses the units that the backward pass makes again, for the least time within a limit of memory. Private to
// search/knobs/recompute.
#ifndef CLEAVE_SEARCH_KNOBS_RECOMPUTE_CHOOSE_H_
#define CLEAVE_SEARCH_KNOBS_RECOMPUTE_CHOOSE_H_

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/units/units.h"
#include "search/knobs/recompute/branch_and_bound.h"
#include "search/knobs/recompute/liveness.h"

namespace cleave::search {

class Chooser {
 public:
  // `work`: how many values and fused steps each call below looks at in all, at Liveness::size() for a set. It first
  // improves sets step by step, then branches and bounds.
  Chooser(const Liveness& liveness, int64_t work);

  // By unit, whether it is made again; nullopt where no set was found whose peak is at most `limit`.
  std::optional<std::vector<bool>> Cheapest(Bytes limit);
  // FastestSet with `measure`, with sets by unit.
  using Measure = std::function<std::optional<Seconds>(const std::vector<bool>&)>;
  void MeasureFasterThan(std::optional<Seconds> best, Bytes limit, const Measure& measure);
  // The set with the least peak that is found.
  std::vector<bool> Smallest();
  // A lower bound of the peak of any set, as quick as looking at a few sets.
  Bytes LeastPeak() const;

  // The set that the user asks for.
  std::vector<bool> AsAsked() const { return UnitsOf(AsAskedSet()); }

  // Those that can be made again.
  const std::vector<UnitClass>& classes() const { return classes_; }

 private:
  using Set = ClassSet;

  std::vector<bool> UnitsOf(const Set& set) const { return search::UnitsOf(liveness_, classes_, set); }
  Outcome Of(const Set& set, Bytes limit);
  bool IsFree(size_t c) const { return !asked_[c].has_value(); }
  Set AsAskedSet() const;
  Set BestFor(double seconds_per_byte) const;
  const std::vector<Set>& Starts();
  std::vector<Set> NearestStarts(Bytes limit);
  void AddWithSources(size_t c, Set& set) const;
  std::vector<Set> Neighbours(const Set& set) const;
  bool IsSmall() const;
  std::optional<Set> FasterThan(std::optional<Seconds> best, Bytes limit);
  std::optional<Set> Descend(Set set, Bytes limit);
  void Improve(Bytes limit, Set& set);
  std::vector<bool> KeepLastLayers(const Set& set, Bytes limit) const;

  const Liveness& liveness_;
  const int64_t outcomes_;  // The most sets that a call looks at.
  int64_t outcomes_left_ = 0;
  std::vector<UnitClass> classes_;
  std::vector<std::optional<bool>> asked_;    // By class.
  std::vector<int> class_of_;                 // By unit; -1: is never made again.
  std::vector<std::vector<size_t>> sources_;  // By class: those that make its inputs which no backward op reads.
  // Several ways lead to the same set.
  std::map<Bytes, absl::flat_hash_map<Set, Outcome>> known_;  // By limit.
  std::vector<Set> starts_;                                   // Empty until they are asked for.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_CHOOSE_H_
