// SAPP: finds a plan by two recursions, over the mesh axes and over the ops, the inner one exact (descent.h), from
// several starts; then by refinement of the best under the whole price.
//
// Under the price `classic` the published greedy result is the answer.
#ifndef CLEAVE_SEARCH_SAPP_SAPP_H_
#define CLEAVE_SEARCH_SAPP_SAPP_H_

#include "ir/sharding/pins/pins.h"
#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave::search {

// Sets all ops of `assignment`; returns the plan's cost in the price of the search. What kBytes and kTime pay for is
// said by the assignment's prices, how long it takes by its tuning.
double Sapp(Assignment& assignment, const Bundles& bundles, ir::Price price = ir::Price::kBytes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SAPP_SAPP_H_
