// Attention whose queries and keys are cut into the same pieces of the rows, of which each rank has one: the
// distributed form of attention with the attribute `ring`, in which pieces of keys and values go round from rank to
// rank (Liu, Zaharia and Abbeel, Ring Attention with Blockwise Transformers, 2023).
//
//   k.1 = turn(k)                                    each rank has the keys of the rank before it
//   logs.0 = attention_logsumexp(q, k)    y.0 = attention(q, k, v, logs.0)          of its own keys
//   logs.1 = attention_logsumexp(q, k.1)  y.1 = attention(q, k.1, v.1, logs.1)      of these
//   y = mean_by_logs(y.0, logs.0, y.1, logs.1), logs = log_add_exp(logs.0, logs.1), and so on
//
// No rank has more than two pieces of the keys at once. The gradients take the same way: a rank adds its part to the
// gradient of the keys that it has, and passes both on; after the last round each gradient is at its own rank.
//
// On whole tensors these ops are attention of each of `pieces` pieces of the queries and one piece of the keys: the
// keys that lie at piece i were piece (i + turn) mod pieces before they moved, and that is the place that masks see.
#ifndef CLEAVE_IR_GRAPH_OPS_RING_H_
#define CLEAVE_IR_GRAPH_OPS_RING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ir/graph/attributes/attributes.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

// Of how many pieces `turn` and a round of ring attention are; 0 for all other ops.
int64_t RingPieces(const Attributes& attributes);

// The attributes of a round, and whether attention is to have rounds: no model sets them.
Argument RingArgument();
Argument PiecesArgument();
Argument TurnArgument();

// For OpDefinition::distribute.
OpId DistributeAttention(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces);
OpId DistributeLogsumexp(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces);
OpId DistributeQueryGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces);
OpId DistributeKeyGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces);
OpId DistributeValueGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_RING_H_
