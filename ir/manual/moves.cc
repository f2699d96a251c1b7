#include "ir/manual/moves.h"

#include <algorithm>
#include <iterator>

namespace cleave {
namespace {

struct Named {
  absl::string_view kind;
  RankMove move;
};

constexpr Named kMoves[] = {
    {"all_reduce", RankMove::kMakesEqual}, {"all_gather", RankMove::kMakesEqual},
    {"broadcast", RankMove::kMakesEqual},  {"reduce_scatter", RankMove::kDealsParts},
    {"all_to_all", RankMove::kDealsParts}, {"neighbor_exchange", RankMove::kMessages},
    {"rank_slice", RankMove::kOwnPlace},   {"rank_pad", RankMove::kOwnPlace},
    {"rank_value", RankMove::kOwnValue},   {"parameter", RankMove::kOwnState},
    {"state", RankMove::kOwnState},
};

}  // namespace

RankMove RankMoveOf(absl::string_view kind) {
  const auto* found =
      std::find_if(std::begin(kMoves), std::end(kMoves), [kind](const Named& named) { return named.kind == kind; });
  return found == std::end(kMoves) ? RankMove::kNone : found->move;
}

}  // namespace cleave
