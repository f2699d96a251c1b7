// SAPP: finds a plan by two recursions, over the mesh axes and over the ops, the inner one exact (descent.h), from
// several starts. Then it refines the best plan under the whole price.
//
// The published algorithm, which is greedy, is in classic_greedy.h.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_SAPP_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_SAPP_H_

#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/freedom.h"

namespace cleave::search {

// Sets all ops of `assignment`, under its prices; its tuning says how long the search may take.
void Sapp(Assignment& assignment);

// The same as Sapp within `freedom`, which is not that of a whole plan. It begins with what the assignment has, not
// with plans that people write.
void SappWithin(Assignment& assignment, const Freedom& freedom);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_SAPP_H_
