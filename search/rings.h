// Chooses whether the keys and values of attention go round from rank to rank (ir/graph/rings).
//
//   std::optional<Found> found = SearchWithRings(training_graph, cluster, pins, options, diagnostics);
//   graph = ir::WithRings(training_graph, ir::RingAttention(found->plan));
//
// Where ranks cut the rows of attention, each needs all keys: gathered, they take as much memory as on one device;
// going round, two pieces of them. Both send as many bytes; a ring has more messages and more, smaller kernels. It is
// looked at where a plan cuts rows, and where memory decides: where no plan fits without rings, where one fits only by
// recomputation or micro-batches, and if memory is the objective. Elsewhere nothing is searched a second time.
#ifndef CLEAVE_SEARCH_RINGS_H_
#define CLEAVE_SEARCH_RINGS_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/search.h"

namespace cleave::search {

// As SearchWithSlices. The plan is one of ir::WithRings(training_graph, ir::RingAttention(plan)) in parts and by rows.
std::optional<Found> SearchWithRings(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                     const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_RINGS_H_
