#include "ir/graph/manual/communication.h"

namespace cleave::ir {

std::optional<Communication> CommunicationOf(OpKind kind) {
  if (kind == OpKind::kAllReduce) return Communication::kAllReduce;
  if (kind == OpKind::kAllGather) return Communication::kAllGather;
  if (kind == OpKind::kReduceScatter) return Communication::kReduceScatter;
  if (kind == OpKind::kBroadcast) return Communication::kBroadcast;
  if (kind == OpKind::kAllToAll) return Communication::kAllToAll;
  if (kind == OpKind::kNeighborExchange) return Communication::kNeighborExchange;
  return std::nullopt;
}

}  // namespace cleave::ir
