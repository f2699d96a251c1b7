#include "runtime/comm/comm.h"

namespace cleave::runtime {

const char* CollectiveKindName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kPermute:
      return "permute";
    case CollectiveKind::kNeighborExchange:
      return "neighbor_exchange";
    case CollectiveKind::kSendReceive:
      return "send_recv";
    case CollectiveKind::kNeighborExchangeV2:
      return "neighbor_exchange_v2";
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  return "";
}

int64_t Comm::SizeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kInt32:
      return 4;
    case ElementType::kInt8:
      return 1;
    case ElementType::kDouble:
      return 8;
    case ElementType::kBFloat16:
    case ElementType::kFloat16:
      return 2;
  }
  return 0;
}

}  // namespace cleave::runtime
