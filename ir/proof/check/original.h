// Compares a distributed graph with the graph from which it was made, both on one device. This is the part of the proof
// that covers the replacement of ops by their distributed forms.
#ifndef CLEAVE_IR_PROOF_CHECK_ORIGINAL_H_
#define CLEAVE_IR_PROOF_CHECK_ORIGINAL_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// Gives `graph`, from which `distributed` was made, the sizes of `shrunk`, the shrunk distributed graph. Then compares
// the value of every op with that in `shrunk`, on up to three draws of random sources (see CompareOnRandomSources in
// compare.h). An Internal error names the first wrong op.
absl::Status CompareWithOriginal(const Graph& graph, const Distributed& distributed, const Graph& shrunk);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_ORIGINAL_H_
