// Plans with stages: a plan for the ranks of one stage, found as every plan is, cut where a step is fastest.
// Private to search.
//
// All stages have equally many ranks and one mesh. Under a memory limit the plan is searched with as many times the
// limit as there are stages, since a stage has its part of the model only, and then with less, until all stages fit.
#ifndef CLEAVE_SEARCH_KNOBS_PIPELINE_H_
#define CLEAVE_SEARCH_KNOBS_PIPELINE_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/knobs/options.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// The plan with the stages that `pins.settings` asks for: `auto` takes the number with the least predicted time, which
// may be 1. REQUIRES: the graph is not manual.
std::optional<Found> SearchPipeline(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                    const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_PIPELINE_H_
