// The plan of a manual model, which has its own communication: nothing is searched.
#ifndef CLEAVE_SEARCH_MODEL_MANUAL_MANUAL_H_
#define CLEAVE_SEARCH_MODEL_MANUAL_MANUAL_H_

#include <string>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::search {

// Whether the settings fit the kind of model: `search = manual` needs a manual model (E0711), which takes no settings
// for a search (E0708). Reports all that do not fit.
bool CheckManualSettings(const ir::Graph& graph, ir::SearchAlgorithm algorithm, const ir::Pins& pins,
                         Diagnostics& diagnostics);

// The plan in which every op works on whole local tensors. `cluster` is the cluster's name. REQUIRES:
// graph.is_manual(), and the mesh has its ranks.
ir::Plan ManualPlan(const ir::Graph& graph, const ir::Mesh& mesh, const std::string& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_MANUAL_MANUAL_H_
