#include "ir/graph/manual/moves.h"

#include "base/check/check.h"
#include "ir/graph/manual/communication.h"

namespace cleave::ir {
namespace {

RankMove RankMoveOf(Communication communication) {
  switch (communication) {
    case Communication::kAllReduce:
    case Communication::kAllGather:
    case Communication::kBroadcast:
      return RankMove::kMakesEqual;
    case Communication::kReduceScatter:
    case Communication::kAllToAll:
      return RankMove::kDealsParts;
    case Communication::kNeighborExchange:
      return RankMove::kMessages;
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace

RankMove RankMoveOf(OpKind kind) {
  if (const auto communication = CommunicationOf(kind)) return RankMoveOf(*communication);
  if (kind == OpKind::kRankSlice || kind == OpKind::kRankPad) return RankMove::kOwnPlace;
  if (kind == OpKind::kRankValue) return RankMove::kOwnValue;
  if (kind == OpKind::kParameter || kind == OpKind::kState) return RankMove::kOwnState;
  return RankMove::kNone;
}

}  // namespace cleave::ir
