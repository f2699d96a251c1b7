// Which units the backward pass makes again, for the least time within a limit of memory. Private to search/recompute.
#ifndef CLEAVE_SEARCH_RECOMPUTE_CHOOSE_H_
#define CLEAVE_SEARCH_RECOMPUTE_CHOOSE_H_

#include <optional>
#include <vector>

#include "base/units/units.h"
#include "search/recompute/liveness.h"

namespace cleave::search {

// Units of equal layers, in the order of the layers. They are decided together.
using UnitClass = std::vector<int>;

class Chooser {
 public:
  // With at most so many classes to decide, all sets of them are looked at.
  static constexpr size_t kMostExact = 12;

  explicit Chooser(const Liveness& liveness);

  // By unit, whether it is made again; nullopt where no set was found whose peak is at most `limit`.
  std::optional<std::vector<bool>> Cheapest(Bytes limit) const;
  // A set whose peak is within a hundredth of the least peak of any set found.
  std::vector<bool> Smallest() const;

  // The set that the user asks for.
  std::vector<bool> AsAsked() const { return UnitsOf(AsAskedSet()); }

  // The classes that can be made again, and whether the user decides.
  const std::vector<UnitClass>& classes() const { return classes_; }

 private:
  using Set = std::vector<bool>;  // By class.

  std::vector<bool> UnitsOf(const Set& set) const;
  Outcome Of(const Set& set, Bytes limit) const { return liveness_.Of(UnitsOf(set), limit); }
  bool IsFree(size_t c) const { return !asked_[c].has_value(); }
  Set AsAskedSet() const;
  Set BestFor(double seconds_per_byte) const;
  std::vector<Set> Starts() const;
  void AddWithSources(size_t c, Set& set) const;
  std::vector<Set> Neighbours(const Set& set) const;
  std::optional<Set> BestOfAll(Bytes limit) const;
  std::optional<Set> Descend(Set set, Bytes limit) const;
  void Improve(Bytes limit, Set& set) const;
  std::vector<bool> KeepLastLayers(const Set& set, Bytes limit) const;

  const Liveness& liveness_;
  std::vector<UnitClass> classes_;
  std::vector<std::optional<bool>> asked_;    // By class.
  std::vector<int> class_of_;                 // By unit; -1: is never made again.
  std::vector<std::vector<size_t>> sources_;  // By class: the classes whose values nothing but the forward pass reads.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_RECOMPUTE_CHOOSE_H_
