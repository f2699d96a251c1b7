// ZeRO: divides among the replicas of a parameter what each of them would keep. It is applied to a finished plan.
//
//   ShardReplicas(facts, demands, /*level=*/2, plan);
//
// Every mesh axis that does not cut a parameter holds copies of it. With these axes the optimizer's state and update
// are cut (level 1), the gradient is scattered as soon as it is made (level 2), and the parameter itself is stored in
// parts, gathered for the forward and again for the backward pass (level 3). Forward and backward ops stay as they were
// planned; what is sent follows from the layouts. With n replicas of P bytes, (n-1)/n * P each:
//
//   level 0   all_reduce of the gradient                                             2
//   level 1   reduce_scatter before the update, all_gather of the new parameter      2
//   level 2   the same, the reduce_scatter in the backward pass                      2
//   level 3   all_gather forward, all_gather backward, reduce_scatter                3
//             (2 where the backward pass does not read the parameter)
//
// A parameter that forward and backward pass read by a copy in 16 bits alone is stored in parts at levels 1 and 2, too:
// in place of the new parameter a step gathers its copy, once, in half the bytes.
//
// Source: Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020, sections 5
// and 7.
#ifndef CLEAVE_SEARCH_KNOBS_ZERO_ZERO_H_
#define CLEAVE_SEARCH_KNOBS_ZERO_ZERO_H_

#include <map>

#include "ir/sharding/layout/layout.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/facts/demands.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// Changes the layouts of states, update ops, gradients and parameters. A parameter in `demands` (the user's pins) keeps
// its storage; its states and gradients are divided even so. REQUIRES: 0 <= level <= 3.
void ShardReplicas(const GraphFacts& facts, const OpDemands& demands, int level, ir::Plan& plan);

// `storage` with all axes that it does not use cutting one dimension: the one with which the largest piece becomes
// smallest, and of equal ones the first, whose pieces lie one behind another. Where no dimension has an element for
// every piece, they cut several dimensions, if that at least halves the largest piece. The axes of the fastest links
// come first: a reduce-scatter then begins on them, and an all-gather ends there.
ir::Layout DividedLayout(const ir::Layout& storage, const ir::Mesh& mesh, const ir::Shape& shape);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_ZERO_ZERO_H_
