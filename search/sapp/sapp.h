// SAPP: finds a plan by two recursions, over the mesh axes and over the ops, the inner one exact (descent.h), from
// several starts. Then it refines the best plan under the whole price.
//
// Under the price `classic` the result is that of the published greedy algorithm.
#ifndef CLEAVE_SEARCH_SAPP_SAPP_H_
#define CLEAVE_SEARCH_SAPP_SAPP_H_

#include "ir/sharding/pins/pins.h"
#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave::search {

// Sets all ops of `assignment`; returns the plan's cost in the price of the search. For kBytes and kTime the
// assignment's prices are used; its tuning says how long the search may take.
double Sapp(Assignment& assignment, const Bundles& bundles, ir::Price price = ir::Price::kBytes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SAPP_SAPP_H_
