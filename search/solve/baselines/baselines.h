// Plans that need no search, to compare with and to start from.
#ifndef CLEAVE_SEARCH_SOLVE_BASELINES_BASELINES_H_
#define CLEAVE_SEARCH_SOLVE_BASELINES_BASELINES_H_

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// Every mesh axis cuts the batch, as far as it has samples; parameters are replicated. Pinned ops keep their
// strategies.
void DataParallel(Assignment& assignment);

// Replicates all ops that are not pinned.
void Replicate(Assignment& assignment);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_BASELINES_BASELINES_H_
