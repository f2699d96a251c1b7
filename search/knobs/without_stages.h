// Plans without stages, in which all ranks of a cluster, or of a pipeline's stage, work on all ops. Private to search.
#ifndef CLEAVE_SEARCH_KNOBS_WITHOUT_STAGES_H_
#define CLEAVE_SEARCH_KNOBS_WITHOUT_STAGES_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/knobs/options.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// As SearchForProgram (search.h). REQUIRES: CheckManualSettings finds no error; `pins.settings.stages` is ignored.
std::optional<Found> SearchWithoutStages(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                         const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_WITHOUT_STAGES_H_
