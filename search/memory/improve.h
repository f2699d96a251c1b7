// The best programs of small models under a limit of memory. Private to search/memory.
//
// Bounds say which choices of what is made again may fit, and in less time than the best plan; the programs of all of
// these are measured.
#ifndef CLEAVE_SEARCH_MEMORY_IMPROVE_H_
#define CLEAVE_SEARCH_MEMORY_IMPROVE_H_

#include <vector>

#include "search/memory/measured.h"
#include "search/memory/memory.h"
#include "search/memory/save.h"

namespace cleave::search {

// Offers what fits of the candidates with all choices, the fastest candidates first, until `saver` is done.
void MeasureChoices(const FitTask& task, std::vector<Candidate> candidates, const BestFit& best, Saver& saver);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MEMORY_IMPROVE_H_
