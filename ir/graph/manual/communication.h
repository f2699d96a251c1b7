// The ops of manual models that read what other ranks hold. Whoever treats them one by one switches over this list, so
// that the compiler names the places that a new one has to be added to.
#ifndef CLEAVE_IR_GRAPH_MANUAL_COMMUNICATION_H_
#define CLEAVE_IR_GRAPH_MANUAL_COMMUNICATION_H_

#include <optional>

#include "ir/graph/op_kind/op_kind.h"

namespace cleave::ir {

enum class Communication {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kNeighborExchange,
};

// nullopt for an op that every rank computes from its own values.
std::optional<Communication> CommunicationOf(OpKind kind);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_MANUAL_COMMUNICATION_H_
