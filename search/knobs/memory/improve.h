// The best programs of small models under a limit of memory. Private to search/knobs/memory.
//
// Bounds say which choices of what is made again may fit, and in less time than the best plan; the programs of all of
// these are measured.
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_IMPROVE_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_IMPROVE_H_

#include "absl/types/span.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/memory/save.h"

namespace cleave::search {

// Offers what fits of the candidates with all choices with which no more is live than the limit and this share of it,
// until `saver` is done. Puts the fastest candidates first.
void MeasureChoices(const FitTask& task, absl::Span<Candidate> candidates, double beyond, const BestFit& best,
                    Saver& saver);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_IMPROVE_H_
