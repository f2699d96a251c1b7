// Plans from which a search starts besides those of the recursion: plans that people write by hand.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_STARTS_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_STARTS_H_

#include <vector>

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// The first `batch_axes` mesh axes cut the batch; on the others products alternate between columns and the contracted
// dimension: one that reads a value which an earlier one cut in columns contracts it, any other cuts its columns
// (Megatron, Shoeybi et al. 2019, section 3). Light ops follow what they read. An axis that fits nowhere else goes to
// the first factor that has elements for it.
void StartUniform(Assignment& assignment, int batch_axes);

// The strategies of the ops that a search sets.
std::vector<Change> Snapshot(const Assignment& assignment);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_STARTS_H_
