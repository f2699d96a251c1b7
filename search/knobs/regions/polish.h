// Improves a plan by measuring programs, which the price of a search only approximates.
//
//   Polish(assignment, freedom, tuning.measured_ops,
//          [&] { return Measure(graph, PlanOf(assignment), cluster, execution); }, objective);
//
// The programs of all measured plans have at most `ops` ops together. Where that is enough for all plans, all are
// tried. Else single ops are changed, then pairs of neighbours, as long as that makes the plan better. On meshes with
// more axes than `tuning.small_axes` the plan stays as it is: ops have too many strategies there.
#ifndef CLEAVE_SEARCH_KNOBS_REGIONS_POLISH_H_
#define CLEAVE_SEARCH_KNOBS_REGIONS_POLISH_H_

#include <cstdint>
#include <functional>

#include "search/knobs/regions/measure.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/freedom.h"

namespace cleave::search {

// Whether Polish tries all plans.
bool TriesAll(Assignment& assignment, const Freedom& freedom, int64_t ops);

// Changes open ops of `assignment` within `freedom`. `measure` measures the plan that `assignment` has when it is
// called.
void Polish(Assignment& assignment, const Freedom& freedom, int64_t ops, const std::function<Measured()>& measure,
            ir::Objective objective);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_REGIONS_POLISH_H_
