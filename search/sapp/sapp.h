// SAPP: finds a plan by the double recursion (greedy.h), then by refinement (refine.h) from it and from plans that
// people write.
//
// Under the price `classic` the greedy result is the answer, as published.
#ifndef CLEAVE_SEARCH_SAPP_SAPP_H_
#define CLEAVE_SEARCH_SAPP_SAPP_H_

#include <cstdint>

#include "ir/pins/pins.h"
#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave {

struct SappOptions {
  Price price = Price::kBytes;  // kBytes or kClassic.
  int64_t work = 40000;         // Of refine, for each start: strategies set, tried ones included.
};

// Sets all ops of `assignment`; returns the plan's cost in the price of the search.
double Sapp(Assignment& assignment, const Bundles& bundles, const SappOptions& options);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_SAPP_H_
