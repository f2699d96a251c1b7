// Finds the best recomputation for plans of small models by their programs. Private to search/knobs/memory.
//
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_IMPROVE_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_IMPROVE_H_

#include "absl/types/span.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/memory/save.h"

namespace cleave::search {

// For each candidate, tries every choice of recomputation whose live bytes are at most limit x (1 + beyond) and that
// bounds do not rule out as too slow: makes its program, and offers it to `saver` if it fits. Stops when `saver` is
// done. Sorts the candidates by Candidate::at_least.
void MeasureChoices(const FitTask& task, absl::Span<Candidate> candidates, double beyond, const BestFit& best,
                    Saver& saver);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_IMPROVE_H_
