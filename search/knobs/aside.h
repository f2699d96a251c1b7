// Strategies of the ops that no search decides: ops that are aside (only metrics or looks need them), and update ops in
// no GraphFacts::update_groups, such as the sum of a parameter's squares. Private to search.
#ifndef CLEAVE_SEARCH_KNOBS_ASIDE_H_
#define CLEAVE_SEARCH_KNOBS_ASIDE_H_

#include <optional>

#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/facts/demands.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// Sets the strategy of every op that is aside and that `demands` does not fix: that of its forward op, or else the one
// that reads the largest cut value among its inputs without a redistribution. Inputs of the model that only these ops
// read get the layout in which they are read, unless a setting fixes the layout of data (`data_is_placed`). REQUIRES:
// all other ops are decided, so that metrics and prints do not change a plan.
void FollowAside(const GraphFacts& facts, const OpDemands& demands, bool data_is_placed, ir::Plan& plan);

// Sets the strategy of every update op in no update group to the one that reads its largest cut input without a
// redistribution: each rank then sums the squares of its own piece of a parameter.
void FollowParameters(const GraphFacts& facts, const OpDemands& demands, ir::Plan& plan);

// `plan` with all ops between products of the update replicated: an iteration of products, as that of Muon, then
// gathers its matrix once, and each rank computes all of it. nullopt where they are already.
std::optional<ir::Plan> GatheredForProducts(const GraphFacts& facts, const OpDemands& demands, const ir::Plan& plan);

// The training graph without metrics, looks and the ops that are aside, by which plans are measured; and a plan of the
// whole graph, for that graph.
ir::Graph WithoutAside(const GraphFacts& facts);
ir::Plan WithoutAside(const GraphFacts& facts, ir::Plan plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_ASIDE_H_
