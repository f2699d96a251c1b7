// The fastest set of classes within a limit of memory, found by leaving out only sets that cannot be it. Private to
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

// Units of equal layers, in the order of the layers. They are decided together.
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
  // The time that the program of a set takes for what is made again; nullopt where it does not fit. Null: Liveness::Of
  // says whether a set fits, and in which time.
  std::function<std::optional<Seconds>(const ClassSet&)> measure = nullptr;
};

// The set with the least time that fits into the limit, of all sets; nullopt where none takes less time than `best`,
// which fits. Where sets are measured, all are that may be it by their bounds, each once; what is made again saves no
// more time than the bounds say. `outcomes`: the search ends when it has looked at about so many sets,
// each as long as Liveness::Of, and takes away what it used. It then returns the best set that it has found.
std::optional<ClassSet> FastestSet(const BranchTask& task, std::optional<Seconds> best, int64_t& outcomes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_BRANCH_AND_BOUND_H_
