// Finds the best plan, or a bound of how far the best known plan is from it.
//
//   ExactResult result = FindBest(assignment, freedom);   // sets all ops of `assignment`
//   if (result.is_proven) …                                   // no plan costs less than result.cost
//
// 1. `assignment` has a plan to begin with.
// 2. Where all strategies of all ops (each axis on each factor, in every order) make tables of moderate size, variable
// elimination finds the best plan.
// 3. Otherwise a relaxation: axes of one link class and size are interchangeable, so that a strategy says only how many
// of them cut each factor (relaxed.h). The best choice of these counts never costs more than the best plan, and is a
// plan to search from.
#ifndef CLEAVE_SEARCH_SOLVE_EXACT_EXACT_H_
#define CLEAVE_SEARCH_SOLVE_EXACT_EXACT_H_

#include <optional>

#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/freedom.h"

namespace cleave::search {

struct ExactResult {
  double cost = 0;
  std::optional<double> lower_bound;  // nullopt: too many counts, or not the price `bytes`.
  bool is_proven = false;             // The bound is the cost, up to rounding.
};

// Sets `assignment` to the best plan found that keeps its demands. REQUIRES: `assignment` has a plan within `freedom`.
ExactResult FindBest(Assignment& assignment, const Freedom& freedom);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_EXACT_EXACT_H_
