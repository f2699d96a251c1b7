// Revisits the decisions of a plan under its whole price until nothing improves.
//
// A move changes a class of equal ops on one mesh axis (or on all): products to another factor, with the light ops
// around them as they are or following; bundles of light ops to another dimension; the order of two axes in a factor.
// Each is tried on the assignment, priced from what it touches, and taken back unless the plan gets cheaper.
// Deterministic, and bounded by an amount of work.
#ifndef CLEAVE_SEARCH_SAPP_REFINE_H_
#define CLEAVE_SEARCH_SAPP_REFINE_H_

#include <cstdint>
#include <vector>

#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave {

// Ops that are decided together: the same place in repeated layers (`x.0.attn.qkv.matmul`, `x.1.attn.qkv.matmul`) and
// the same rule.
std::vector<std::vector<OpId>> FoldedClasses(const GraphFacts& facts, const std::vector<OpId>& ops);

struct RefineOptions {
  int64_t work = 40000;  // Strategies set, tried ones included.
};

// Returns whether the plan got cheaper.
bool Refine(Assignment& assignment, const Bundles& bundles, const RefineOptions& options = {});

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_REFINE_H_
