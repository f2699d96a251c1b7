// Adding ops to a graph that is made together with its plan. Private to ir/transforms/distribute.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_APPEND_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_APPEND_H_

#include <utility>

#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// Adds an op in the place of `original`, or for it. Its `gradient_of` is still of the original graph.
inline OpId Append(Op op, const Op& original, OpPlan plan, Distributed& to) {
  op.id = OpId(static_cast<int64_t>(to.graph.ops.size()));
  if (op.gradient_of.has_value()) op.gradient_of = to.values[*op.gradient_of];
  to.plan.ops.push_back(std::move(plan));
  to.originals.push_back(original.id);
  return to.graph.ops.push_back(std::move(op));
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_APPEND_H_
