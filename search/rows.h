// Chooses whether gradients of tables are applied by rows (ir/graph/row_updates).
//
//   std::optional<Found> found = SearchWithRows(training_graph, cluster, pins, options, diagnostics);
//   ProgramOf(ir::WithRowUpdates(training_graph, ir::GradientsByRows(found->plan)), found->plan);
//
// One search is for the graph as it is, one with those gradients applied by rows that make a step on one device faster.
// The plan whose program has the faster predicted step (or the lower peak, if memory is the objective) is taken.
#ifndef CLEAVE_SEARCH_ROWS_H_
#define CLEAVE_SEARCH_ROWS_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/search.h"

namespace cleave::search {

// As SearchForProgram. The plan is one of ir::WithRowUpdates(training_graph, ir::GradientsByRows(plan)).
std::optional<Found> SearchWithRows(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                    const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_ROWS_H_
