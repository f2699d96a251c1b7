// Twins: ops that a graph cannot tell apart, such as those of two branches of the same shape.
//
// What leads to them and what follows from them is equal: ops of equal rules and types, in equal places. Two inputs of
// an op have equal places if its rule treats them alike, as those of a sum. Repeated layers are no twins: one comes
// before the other.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_TWINS_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_TWINS_H_

#include <vector>

#include "search/model/facts/facts.h"

namespace cleave::search {

struct Twins {
  std::vector<std::vector<ir::OpId>> lists;  // An op without a twin has a list of its own. In program order.
  IdVector<ir::OpId, int> list_of;           // -1 for ops that are in none.

  // The twins of an op that is in a list, and the op itself.
  const std::vector<ir::OpId>& of(ir::OpId op) const { return lists[static_cast<size_t>(list_of[op])]; }
};

// The twins among the ops of `among`. Time: one pass over the graph in each direction.
Twins TwinsAmong(const GraphFacts& facts, const std::vector<ir::OpId>& among);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_TWINS_H_
