// Twins: ops that a graph cannot tell apart, such as those of two branches of the same shape.
//
// What leads to them and what follows from them is equal: ops of equal rules and types, in equal places. Two inputs of
// an op have equal places if its rule treats them alike, as those of a sum. Repeated layers are no twins: one comes
// before the other.
#ifndef CLEAVE_SEARCH_SAPP_TWINS_H_
#define CLEAVE_SEARCH_SAPP_TWINS_H_

#include <vector>

#include "search/cost/facts.h"

namespace cleave::search {

// The ops of `among`, in lists of twins; an op without a twin has a list of its own. In program order. Time: one pass
// over the graph in each direction.
std::vector<std::vector<ir::OpId>> TwinsAmong(const GraphFacts& facts, const std::vector<ir::OpId>& among);

// The list with `op`. REQUIRES: there is one.
const std::vector<ir::OpId>& TwinsOf(const std::vector<std::vector<ir::OpId>>& twins, ir::OpId op);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SAPP_TWINS_H_
