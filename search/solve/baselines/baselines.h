// Plans without a search, to compare with and to start from.
#ifndef CLEAVE_SEARCH_SOLVE_BASELINES_BASELINES_H_
#define CLEAVE_SEARCH_SOLVE_BASELINES_BASELINES_H_

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// Every mesh axis cuts the batch, as far as it has samples; parameters are replicated. Ops that are pinned stay as they
// are.
void DataParallel(Assignment& assignment);

// Only what is pinned is cut: every rank does all the work.
void Replicate(Assignment& assignment);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_BASELINES_BASELINES_H_
