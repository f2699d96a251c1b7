// Splits the price around an op into parts, for the reasons of a plan.
#ifndef CLEAVE_SEARCH_SOLVE_ASSIGNMENT_PARTS_H_
#define CLEAVE_SEARCH_SOLVE_ASSIGNMENT_PARTS_H_

#include <vector>

#include "ir/sharding/plan/plan.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// The parts of `assignment.CostAround(op)`: they sum to its price.
ir::CostParts PartsAround(Assignment& assignment, ir::OpId op);

// The part of the price of `values` that is proportional to the gradient weight, in which prices are linear.
double GradientPart(Assignment& assignment, const std::vector<ir::OpId>& values);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_ASSIGNMENT_PARTS_H_
