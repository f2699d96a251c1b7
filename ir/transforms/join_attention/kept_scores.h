// Attention that stays several ops, and so keeps a matrix of scores: which it is, and why it did not become one op.
#ifndef CLEAVE_IR_TRANSFORMS_JOIN_ATTENTION_KEPT_SCORES_H_
#define CLEAVE_IR_TRANSFORMS_JOIN_ATTENTION_KEPT_SCORES_H_

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/transforms/join_attention/join_attention.h"

namespace cleave::ir {

struct KeptScores {
  OpId softmax;
  OpId scores;         // The product of queries and keys.
  OpId mixed;          // The product with the values.
  std::string reason;  // A clause: "`x.where`, `where`, stands between its products".
};

// Each softmax that stands between two products of values that are no parameters, both of which it follows through ops
// of its own shape. REQUIRES: `joined` is what JoinAttention returned, with these options and pins.
std::vector<KeptScores> FindKeptScores(const Graph& joined, const JoinAttentionOptions& options, const Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_JOIN_ATTENTION_KEPT_SCORES_H_
