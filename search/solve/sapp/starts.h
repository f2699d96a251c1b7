// Plans as people write them, from which a search starts besides those of its recursion.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_STARTS_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_STARTS_H_

#include <vector>

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// Sets `assignment` to Megatron's plan (Shoeybi et al. 2019, section 3): the first `batch_axes` mesh axes cut the
// batch; the others cut the contracted dimension of products that read a value cut in columns, and the columns of all
// others. Light ops follow what they read. An axis that fits nowhere else cuts the first factor that has elements for
// it.
void StartUniform(Assignment& assignment, int batch_axes);

// The present strategies of the ops that a search sets.
std::vector<Change> Snapshot(const Assignment& assignment);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_STARTS_H_
