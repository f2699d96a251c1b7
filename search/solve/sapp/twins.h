// Twins: ops between which a graph without names has no difference, such as those of two branches of the same shape.
//
// Their ancestors and descendants are equal: ops of equal rules and types, which read equal inputs of each other. Two
// inputs of an op are equal if its rule treats them alike, as those of a sum. Repeated layers are no twins: one comes
// before the other.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_TWINS_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_TWINS_H_

#include <vector>

#include "search/model/facts/facts.h"

namespace cleave::search {

struct Twins {
  std::vector<std::vector<ir::OpId>> lists;  // In program order. An op without a twin is alone in one.
  IdVector<ir::OpId, int> list_of;           // -1: in none.

  // The op and its twins. REQUIRES: it is in a list.
  const std::vector<ir::OpId>& of(ir::OpId op) const { return lists[static_cast<size_t>(list_of[op])]; }
};

// The twins among `among`. Time: one pass over the graph in each direction.
Twins TwinsAmong(const GraphFacts& facts, const std::vector<ir::OpId>& among);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_TWINS_H_
