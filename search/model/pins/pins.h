// Resolves the user's pins to demands: a strategy of an op, a layout of its value.
//
//   std::optional<OpDemands> demands = ResolvePins(facts, mesh, pins, diagnostics);
//
// A pin is kept or the compile fails: every pin that the mesh or the op's rule cannot meet is reported here with its
// source line.
#ifndef CLEAVE_SEARCH_MODEL_PINS_PINS_H_
#define CLEAVE_SEARCH_MODEL_PINS_PINS_H_

#include <map>
#include <optional>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/facts/demands.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// nullopt after errors E0304 and E0310 to E0312. REQUIRES: `mesh` is MeshFor(pins.settings.mesh). A named axis of one
// device cuts nothing.
std::optional<OpDemands> ResolvePins(const GraphFacts& facts, const ir::Mesh& mesh, const ir::Pins& pins,
                                     Diagnostics& diagnostics);

// The layout with `counts` slices per dimension that is nearest to `from`: axes of `from` stay where they are as far as
// the counts allow, others are taken in mesh order, those over which `from` is partial first. nullopt where no axes
// have these products.
std::optional<ir::Layout> LayoutFromCounts(const std::vector<int64_t>& counts, const ir::Layout& from,
                                           const ir::Mesh& mesh);

// The products of sizes of axes of `mesh`, ascending.
std::vector<int64_t> PossibleCounts(const ir::Mesh& mesh);

// The ops of `demands` whose demand a finished plan does not keep. If there are any, the search has a bug.
std::vector<ir::OpId> BrokenDemands(const GraphFacts& facts, const ir::Plan& plan, const OpDemands& demands);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_PINS_PINS_H_
