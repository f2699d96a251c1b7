// SAPP: finds a plan by two recursions, over the mesh axes and over the ops, the inner one exact (descent.h), from
// several starts; then refines the best plan.
//
// The published algorithm, which is greedy, is in classic_greedy.h.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_SAPP_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_SAPP_H_

#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/freedom.h"

namespace cleave::search {

// Sets all open ops of `assignment` to the cheapest plan found under its prices. Its tuning bounds the work.
void Sapp(Assignment& assignment);

// The same within a `freedom` other than Freedom::Whole. Starts from the assignment's plan, not from plans that people
// write.
void SappWithin(Assignment& assignment, const Freedom& freedom);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_SAPP_H_
