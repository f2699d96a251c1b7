// Branch and bound for the fastest set of recomputed classes within a limit of memory. Private to
// search/knobs/recompute.
#ifndef CLEAVE_SEARCH_KNOBS_RECOMPUTE_BRANCH_AND_BOUND_H_
#define CLEAVE_SEARCH_KNOBS_RECOMPUTE_BRANCH_AND_BOUND_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units/units.h"
#include "search/knobs/recompute/liveness.h"

namespace cleave::search {

// The same unit (liveness.h) of each equal layer, in the order of the layers. They are decided together.
using UnitClass = std::vector<int>;
// By class, whether its units are made again.
using ClassSet = std::vector<bool>;

// By unit, whether it is made again.
std::vector<bool> UnitsOf(const Liveness& liveness, const std::vector<UnitClass>& classes, const ClassSet& set);

struct BranchTask {
  const Liveness& liveness;
  const std::vector<UnitClass>& classes;
  std::vector<std::optional<bool>> decided;  // By class; nullopt: the search decides.
  Bytes limit;
  // Makes the program of a set and returns how much longer than without recomputation its step is; nullopt where it
  // does not fit. Null: sets are judged by Liveness::Of.
  std::function<std::optional<Seconds>(const ClassSet&)> measure = nullptr;
};

// The set with the least time of all that fit into the limit; nullopt where none takes less than `best`. Where sets are
// measured, each that its bounds (Liveness::BoundsOf) do not rule out is measured once. `outcomes`: how many sets may
// be looked at, each for about as long as Liveness::Of takes; the search subtracts what it used, and returns the best
// set so far when nothing is left.
std::optional<ClassSet> FastestSet(const BranchTask& task, std::optional<Seconds> best, int64_t& outcomes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_BRANCH_AND_BOUND_H_
