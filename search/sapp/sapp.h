// SAPP: finds a plan by two recursions, over the mesh axes and over the ops, the inner one exact (descent.h), from
// several starts; then by refinement of the best under the whole price.
//
// Under the price `classic` the published greedy result is the answer.
#ifndef CLEAVE_SEARCH_SAPP_SAPP_H_
#define CLEAVE_SEARCH_SAPP_SAPP_H_

#include <cstdint>

#include "ir/pins/pins.h"
#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave {

struct SappOptions {
  Price price = Price::kBytes;  // What kBytes and kTime pay for is said by the assignment's prices.
  int64_t work = 400000;        // Of each start: table lookups, or what takes as long.
};

// Sets all ops of `assignment`; returns the plan's cost in the price of the search.
double Sapp(Assignment& assignment, const Bundles& bundles, const SappOptions& options);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_SAPP_H_
