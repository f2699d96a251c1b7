// The strategies of ops that decide nothing: those that only metrics or looks need, and update ops that lie like no
// parameter. Private to search.
#ifndef CLEAVE_SEARCH_KNOBS_ASIDE_H_
#define CLEAVE_SEARCH_KNOBS_ASIDE_H_

#include <optional>

#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/facts/demands.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// Lets every op that is aside follow its forward op, or else the largest of the cut values that it reads, as these lie
// after all else has been decided. Inputs of the model that no other op reads lie as these ops read them, unless a
// setting says how data lies (`data_is_placed`). What `demands` fixes stays. So a model has the same plan with its
// metrics and prints and without them.
void FollowAside(const GraphFacts& facts, const OpDemands& demands, bool data_is_placed, ir::Plan& plan);

// Lets every update op that does not lie like a parameter take the largest of the cut values that it reads as it lies:
// the sum of a parameter's squares is then a sum of what each rank has of them.
void FollowParameters(const GraphFacts& facts, const OpDemands& demands, ir::Plan& plan);

// The plan in which all ranks have the whole of what the update computes between products: an iteration of products, as
// that of Muon, then brings its matrix together once, and each rank computes all of it. nullopt where that is so.
std::optional<ir::Plan> GatheredForProducts(const GraphFacts& facts, const OpDemands& demands, const ir::Plan& plan);

// The training graph without its metrics, its looks and the ops that only these need: by this plans are measured. And
// a plan of the whole graph for it.
ir::Graph WithoutAside(const GraphFacts& facts);
ir::Plan WithoutAside(const GraphFacts& facts, ir::Plan plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_ASIDE_H_
