// Chooses which products are computed in chunks of their rows, so that the reduction of one chunk runs beside the
// product of the next one (ir/transforms/distribute/chunks.h).
//
//   std::optional<Found> found = SearchWithChunks(training_graph, cluster, pins, options, diagnostics);
//   graph = GraphOf(training_graph, found->plan);
//
// Tensor parallelism reduces what a product gives before anything else can read it. In c chunks all but one c-th of the
// reduction, or of the product, whichever is shorter, is hidden; products of fewer rows reach less of the peak, c
// collectives have c latencies, and what runs beside a collective is slower. So each choice is measured by its program.
// Strategies are those of the plan without chunks: nothing is searched a second time.
#ifndef CLEAVE_SEARCH_CHUNKS_H_
#define CLEAVE_SEARCH_CHUNKS_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/search.h"

namespace cleave::search {

// As SearchWithRings. With `collective_matmul = auto` there are chunks only on targets that are sure to overlap, under
// the price `time`, and where they make the step faster within the limit of memory.
std::optional<Found> SearchWithChunks(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_CHUNKS_H_
