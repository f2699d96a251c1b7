// Chooses whether losses of products are computed in slices (ir/graph/sliced_losses).
//
//   std::optional<Found> found = SearchWithSlices(training_graph, cluster, pins, options, diagnostics);
//   graph = ir::WithParts(training_graph, ir::LossParts(found->plan));
//
// Slices take less memory, and read the weight once for each of them, so they are never faster by themselves. They are
// looked at where memory decides: where no plan fits without them, where one fits only by recomputation or
// micro-batches, and if memory is the objective. Elsewhere nothing is searched a second time.
#ifndef CLEAVE_SEARCH_SLICES_H_
#define CLEAVE_SEARCH_SLICES_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/search.h"

namespace cleave::search {

// As SearchWithRows. The plan is one of ir::WithParts(training_graph, ir::LossParts(plan)) by rows.
std::optional<Found> SearchWithSlices(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SLICES_H_
