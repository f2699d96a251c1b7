// Plans with stages (docs/search.md#stages): plans the whole model for the ranks of one stage, then cuts it into stages
// where a step is fastest. Private to search.
//
// All stages have equally many ranks and one mesh. Under a memory limit the plan for p stages is searched under p times
// that limit, since a stage has only its part of the model, and then under less, until all stages fit.
#ifndef CLEAVE_SEARCH_KNOBS_PIPELINE_H_
#define CLEAVE_SEARCH_KNOBS_PIPELINE_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/knobs/options.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// The plan with `pins.settings.stages` stages; nullopt there means the number with the fastest predicted step, which
// may be 1. Returns nullopt after errors, among them E0313, E0315 and E0317. REQUIRES: the graph is not manual.
std::optional<Found> SearchPipeline(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                    const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_PIPELINE_H_
