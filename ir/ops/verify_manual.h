// What must hold of the ops of manual models (ir/manual) beyond inference. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_VERIFY_MANUAL_H_
#define CLEAVE_IR_OPS_VERIFY_MANUAL_H_

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave {

// What is wrong with the ranks that `op` speaks of: they are those of the graph, or there are none. Empty: nothing.
// REQUIRES: inference accepts the op.
std::string FindRankError(const Graph& graph, const Op& op);

// Values that vary over ranks where they must not: the loss, and what a state takes that does not vary itself.
// REQUIRES: graph.is_manual(), FindRankError finds nothing.
std::vector<std::string> FindVarianceErrors(const Graph& graph);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_VERIFY_MANUAL_H_
