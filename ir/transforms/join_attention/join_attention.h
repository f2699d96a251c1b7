// Attention in a forward graph becomes one op, which targets compute without the matrix of scores:
//
//   matmul, scale, scale, tanh, scale, add, causal_mask, range_mask, softmax, dropout, matmul
//     ->  attention, attention_logsumexp
//
// Scale, the cap (scale, tanh, scale), the sum with a bias by distance (`by_distance` of the prelude), the masks and
// dropout may be missing; there are not both a cap and a bias; with dropout there is at most one
// dimension before heads, because kernels number the weights by sample, head, row and column. Transposes that bring
// heads in front of rows, or the result's back, become a part of it, and so does the repetition of keys and values for
// the queries of a group: it reads and writes tensors as they lie.
#ifndef CLEAVE_IR_TRANSFORMS_JOIN_ATTENTION_JOIN_ATTENTION_H_
#define CLEAVE_IR_TRANSFORMS_JOIN_ATTENTION_JOIN_ATTENTION_H_

#include <cstdint>

#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

struct JoinAttentionOptions {
  int64_t largest_head = 0;  // Elements of a head, as many as a target can take; with 0 nothing is joined.
  bool trains = true;        // Gradients are wanted, so attention_logsumexp is.
};

// Ops stay as they are where something else reads a value between them, where one of them is pinned to a layout, or
// where they are not all of one region, stage or retention. The op has the name, and `pins` gives it the demands, of
// the last of those that it replaces. REQUIRES: `graph` has no backward ops. Linear in ops.
Graph JoinAttention(Graph graph, const JoinAttentionOptions& options, Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_JOIN_ATTENTION_JOIN_ATTENTION_H_
