// What a search minimizes under each objective.
//
//   speed                    the price that `cost` names, gradients at their weight
//   memory                   bytes that a rank keeps (HeldBytes); of equal plans, the price
//   compute_to_communication the most operations for each byte sent: a model's operations are given, so bytes. All
//                            count in full, on every link alike, and products use every mesh axis
#ifndef CLEAVE_SEARCH_KNOBS_REGIONS_OBJECTIVE_H_
#define CLEAVE_SEARCH_KNOBS_REGIONS_OBJECTIVE_H_

#include "absl/strings/string_view.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "search/model/facts/facts.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// "compute_to_communication"
absl::string_view ObjectiveName(ir::Objective objective);

// `options`, which have the prices of `speed`, with those of `objective`. `facts` and `mesh` outlive the result.
AssignmentOptions PaidUnder(ir::Objective objective, const GraphFacts& facts, const ir::Mesh& mesh,
                            AssignmentOptions options);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_REGIONS_OBJECTIVE_H_
