#include "ir/graph/manual/moves.h"

#include <algorithm>
#include <iterator>

namespace cleave::ir {
namespace {

struct Named {
  OpKind kind;
  RankMove move;
};

constexpr Named kMoves[] = {
    {OpKind::kAllReduce, RankMove::kMakesEqual}, {OpKind::kAllGather, RankMove::kMakesEqual},
    {OpKind::kBroadcast, RankMove::kMakesEqual}, {OpKind::kReduceScatter, RankMove::kDealsParts},
    {OpKind::kAllToAll, RankMove::kDealsParts},  {OpKind::kNeighborExchange, RankMove::kMessages},
    {OpKind::kRankSlice, RankMove::kOwnPlace},   {OpKind::kRankPad, RankMove::kOwnPlace},
    {OpKind::kRankValue, RankMove::kOwnValue},   {OpKind::kParameter, RankMove::kOwnState},
    {OpKind::kState, RankMove::kOwnState},
};

}  // namespace

RankMove RankMoveOf(OpKind kind) {
  const auto* found =
      std::find_if(std::begin(kMoves), std::end(kMoves), [kind](const Named& named) { return named.kind == kind; });
  return found == std::end(kMoves) ? RankMove::kNone : found->move;
}

}  // namespace cleave::ir
