// The order in which variables leave.
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_ORDER_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_ORDER_H_

#include <cstdint>
#include <vector>

#include "search/solve/minsum/minsum.h"

namespace cleave::search {

struct EliminationOrder {
  std::vector<int> variables;  // Those with more than one value.
  int64_t largest = 0;  // Entries of the largest table that a leaving variable makes; kForbidden where beyond counting.
  int64_t total = 0;    // Of all of them.

  bool operator==(const EliminationOrder&) const = default;
};

// The first order takes the variable with the smallest table over its neighbours. Where that makes large tables, two
// more are tried, by the weight of the edges that leaving adds (weighted min-fill, Kjaerulff 1990) and by number, and
// the order with the smallest tables is returned. Ties are broken by number, so that chains leave from an end, layer by
// layer.
EliminationOrder OrderOfElimination(const MinSum& problem, const EliminationLimits& limits);

// The first of these.
EliminationOrder OrderByTable(const MinSum& problem, const EliminationLimits& limits);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_ORDER_H_
