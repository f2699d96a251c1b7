// How the tensors of attention lie (attention.cc), and what a causal mask lets a query see.
#ifndef CLEAVE_IR_GRAPH_OPS_ATTENTION_H_
#define CLEAVE_IR_GRAPH_OPS_ATTENTION_H_

#include <cstddef>
#include <cstdint>

namespace cleave::ir {

// Which dimensions of a tensor [.., heads, rows, head] are heads and rows; of [.., rows, heads, head] where the
// attribute `heads_inside` says so of it. REQUIRES: rank >= 3.
struct AttentionDimensions {
  size_t heads;
  size_t rows;

  AttentionDimensions(size_t rank, bool heads_inside)
      : heads(heads_inside ? rank - 2 : rank - 3), rows(heads_inside ? rank - 3 : rank - 2) {}
};

// Whether the query at `row` sees the key at `column` behind a causal mask with this window, 0 for all before it.
inline bool IsSeenBehind(int64_t row, int64_t column, int64_t window) {
  const int64_t before = row - column;
  return before >= 0 && (window == 0 || before < window);
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_ATTENTION_H_
