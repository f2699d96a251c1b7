// How the ops of manual models make values differ between ranks. Private to ir/graph/manual.
#ifndef CLEAVE_IR_GRAPH_MANUAL_MOVES_H_
#define CLEAVE_IR_GRAPH_MANUAL_MOVES_H_

#include "ir/graph/op_kind/op_kind.h"

namespace cleave::ir {

enum class RankMove {
  kNone,        // Every op that computes the same on all ranks.
  kMakesEqual,  // Every member of the group gets the same: all_reduce, all_gather, broadcast.
  kDealsParts,  // Every member gets its own part: reduce_scatter, all_to_all.
  kMessages,    // neighbor_exchange
  kOwnPlace,    // rank_slice, rank_pad
  kOwnValue,    // rank_value
  kOwnState,    // parameter and state, where they are declared local.
};

RankMove RankMoveOf(OpKind kind);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_MANUAL_MOVES_H_
