// How the tensors of attention lie (attention.cc).
#ifndef CLEAVE_IR_GRAPH_OPS_ATTENTION_H_
#define CLEAVE_IR_GRAPH_OPS_ATTENTION_H_

#include <cstddef>

namespace cleave::ir {

// Which dimensions of a tensor [.., heads, rows, head] are heads and rows; of [.., rows, heads, head] where the
// attribute `heads_inside` says so of it. REQUIRES: rank >= 3.
struct AttentionDimensions {
  size_t heads;
  size_t rows;

  AttentionDimensions(size_t rank, bool heads_inside)
      : heads(heads_inside ? rank - 2 : rank - 3), rows(heads_inside ? rank - 3 : rank - 2) {}
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_ATTENTION_H_
