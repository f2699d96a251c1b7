// Repeated layers as one: which ops of a graph are alike, so that a folded network (network.h) has one variable and one
// table for all of them.
#ifndef CLEAVE_SEARCH_NETWORK_FOLDING_H_
#define CLEAVE_SEARCH_NETWORK_FOLDING_H_

#include "search/assignment/assignment.h"
#include "search/assignment/strategy_table.h"
#include "search/tuning/tuning.h"

namespace cleave::search {

struct Folding {
  IdVector<ir::OpId, int> variables;  // Ops of one number share a variable; their rules are equal.
  IdVector<ir::OpId, int> values;     // Values of one number have equal terms over the same variables.
};

// Ops are alike that look alike within `tuning.folding_steps` steps along the graph: the middle layers of a deep model
// are one class each, those near its ends are their own. Values must look alike within `tuning.folding_value_steps`
// steps more. Ops of which something is demanded are like no other.
Folding FoldOps(const StrategyTable& table, const OpDemands& demands, const SearchTuning& tuning);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_NETWORK_FOLDING_H_
