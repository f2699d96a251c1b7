#include "runtime/comm/comm.h"

#include <cstdlib>

namespace cleave::runtime {

std::optional<int> RankFromEnvironment() {
  // Open MPI, PMIx (Slurm), PMI (MPICH and its relatives), MVAPICH.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return std::nullopt;
}

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
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  return "";
}

}  // namespace cleave::runtime
