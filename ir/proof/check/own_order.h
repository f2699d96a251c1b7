// Compares a graph in which rows of sequences lie in zigzag order with the same graph in their own order, both on one
// device. This is the part of the proof that covers ir/transforms/zigzag.
#ifndef CLEAVE_IR_PROOF_CHECK_OWN_ORDER_H_
#define CLEAVE_IR_PROOF_CHECK_OWN_ORDER_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// The loss, metrics, new values of states and what is printed must be those of InOwnOrder(graph), on one of three draws
// of random sources (see CompareOnRandomSources in compare.h). An Internal error names the first that is not.
absl::Status CompareInOwnOrder(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_OWN_ORDER_H_
