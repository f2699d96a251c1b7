// Folds equal layers: finds the ops of a graph that look alike, so that a folded network (network.h) has one variable
// and one table for all of them.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_FOLDING_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_FOLDING_H_

#include "search/model/tuning/tuning.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/assignment/strategy_table.h"

namespace cleave::search {

struct Folding {
  IdVector<ir::OpId, int> variables;  // Ops of one number share a variable; their rules are equal.
  IdVector<ir::OpId, int> values;     // Values of one number have equal terms over the same variables.
};

// Ops are alike if their kinds are equal and so is the graph around them up to `tuning.folding_steps` edges away: ops
// of the middle layers of a deep model form one class, those near its ends are separate. For values,
// `tuning.folding_value_steps` more edges are compared. An op with a demand is like no other. `kinds`: equal for ops
// that have equal strategies now and may take the same ones.
Folding FoldOps(const StrategyTable& table, const OpDemands& demands, const IdVector<ir::OpId, int>& kinds,
                const SearchTuning& tuning);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_FOLDING_H_
