// Finds a plan: who computes which slice of a training graph on the devices of a cluster.
//
//   Diagnostics diagnostics;
//   std::optional<Plan> plan = Search(training_graph, CpuCluster(8), pins, OptionsFrom(pins.settings), diagnostics);
//
// The same input gives the same plan on any machine; only SearchSummary::seconds differs. Ties break by op id.
// Thread-safe: no shared state.
#ifndef CLEAVE_SEARCH_SEARCH_H_
#define CLEAVE_SEARCH_SEARCH_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/options.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// A plan for `training_graph` on all devices of `cluster`, with every pin kept, that fits into memory where the limit
// is known (search/knobs/memory); nullopt after errors. `pins.settings` names the mesh and the limit; the other
// settings are taken from `options`. REQUIRES: VerifyGraph finds no error.
std::optional<ir::Plan> Search(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                               const SearchOptions& options, Diagnostics& diagnostics);

// The same, with the plan's program where one was made.
std::optional<Found> SearchForProgram(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics);

// The graph of which a plan with rings, losses in parts and gradients by rows is: `training_graph` with these.
ir::Graph GraphOf(const ir::Graph& training_graph, const ir::Plan& plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SEARCH_H_
