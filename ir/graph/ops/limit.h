// The integers that an input of a model may hold.
#ifndef CLEAVE_IR_GRAPH_OPS_LIMIT_H_
#define CLEAVE_IR_GRAPH_OPS_LIMIT_H_

#include <cstdint>

#include "ir/graph/graph.h"

namespace cleave::ir {

// Labels are less than the number of classes, tokens less than the number of rows of their table. Returns the smallest
// bound that the uses of `input` set for its integers, which must be less than it; 0 if any integer will do.
int64_t LimitOf(const Graph& graph, OpId input);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_LIMIT_H_
