// The order in which variables are eliminated.
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_ORDER_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_ORDER_H_

#include <cstdint>
#include <vector>

#include "search/solve/minsum/minsum.h"

namespace cleave::search {

struct EliminationOrder {
  std::vector<int> variables;  // Those with more than one value.
  int64_t largest = 0;         // Entries of the largest table that it makes; kForbidden: too many to count.
  int64_t total = 0;           // Entries of all tables.

  bool operator==(const EliminationOrder&) const = default;
};

// The first order always eliminates the variable with the smallest table over its neighbours. Where that makes large
// tables, two more are tried, weighted min-fill (Kjaerulff 1990) and by number, and the order with the smallest tables
// is returned. Ties break by number, so that chains are eliminated from an end, layer by layer.
EliminationOrder OrderOfElimination(const MinSum& problem, const EliminationLimits& limits);

// The first of these orders.
EliminationOrder OrderByTable(const MinSum& problem, const EliminationLimits& limits);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_ORDER_H_
