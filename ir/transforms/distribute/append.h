// Adding ops to a graph that is made together with its plan. Private to ir/transforms/distribute.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_APPEND_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_APPEND_H_

#include <vector>

#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// Adds an op in the place of `original`, or for it. Its `gradient_of` is still of the original graph.
OpId Append(Op op, const Op& original, OpPlan plan, Distributed& to);

// Adds `op` as it is, with its inputs in `to`. `inherits`: whether the op whose factors it inherits has them there.
OpId AppendKept(const Op& op, OpPlan plan, bool inherits, Distributed& to);

// The type of an op of the graph with these inputs, and completes its attributes (CompleteAttributes). REQUIRES: there
// is such an op.
TensorType TypeIn(const Graph& graph, OpKind kind, const std::vector<OpId>& inputs, Attributes& attributes);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_APPEND_H_
