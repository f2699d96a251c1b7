// Reports of propagation to the user: no pin to start from, cuts of pins that contradict each other or end, and
// products that they do not reach.
#ifndef CLEAVE_SEARCH_SOLVE_PROPAGATE_REPORT_H_
#define CLEAVE_SEARCH_SOLVE_PROPAGATE_REPORT_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "ir/sharding/pins/pins.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/propagate/axis_group.h"
#include "search/solve/propagate/reach.h"
#include "search/solve/propagate/trails.h"

namespace cleave::search {

// How pins spread over the plan of an assignment, by group of mesh axes.
struct Spread {
  std::vector<AxisGroup> groups;
  std::vector<Trails> trails;
  std::vector<Reach> reaches;
};

// "`h1.matmul` (line 7)"
std::string PlaceText(const GraphFacts& facts, ir::OpId op);

// E0309, with the heaviest products and a pin that can be pasted.
void ReportNoPins(const Assignment& assignment, const ir::Pins& pins, Diagnostics& diagnostics);

// W0605 for each value that is redistributed because the cuts of two pins contradict each other there, W0607 for each
// that is because a pin's cut ends there, without cutting the value's maker or a reader: one list, the most expensive
// first, at most 20 and the number of others. Values between two pinned ops, and between what two pins of one region
// lead to, are as the user wants them and not reported.
void WarnOfConflicts(const Assignment& assignment, const Spread& spread, const OpDemands& demands, const ir::Pins& pins,
                     Diagnostics& diagnostics);

// W0606 for each group of axes that leaves products undivided which it could divide, the heaviest first.
void WarnOfUnreached(const Assignment& assignment, const Spread& spread, const ir::Pins& pins,
                     Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_REPORT_H_
