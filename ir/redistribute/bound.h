// A lower bound of what it costs to reach the target: it guides the search and tells when a path cannot be beaten.
#ifndef CLEAVE_IR_REDISTRIBUTE_BOUND_H_
#define CLEAVE_IR_REDISTRIBUTE_BOUND_H_

#include <vector>

#include "ir/redistribute/arrangement.h"

namespace cleave {

class CostBound {
 public:
  explicit CostBound(const Problem& problem);

  // No path from `arrangement` to the target is cheaper.
  double AtLeast(const Arrangement& arrangement) const;

 private:
  // Bytes of the whole tensor over the number of pieces: what a piece has where nothing is uneven. The largest has at
  // least this.
  double MeanBytes(const Arrangement& arrangement) const;

  // Elements of `arrangement`'s piece that are in the target's piece, for the rank with these coordinates on the atoms.
  int64_t SharedElements(const Arrangement& arrangement, const std::vector<int64_t>& coordinates) const;

  const Problem& problem_;
  double least_weight_ = 0;
  double target_bytes_ = 0;
  bool is_even_ = false;                         // Every arrangement cuts every dimension into equal pieces.
  std::vector<int64_t> sizes_;                   // Per dimension the elements within the fixed axes' piece.
  std::vector<std::vector<int64_t>> witnesses_;  // Coordinates of some ranks.
};

}  // namespace cleave

#endif  // CLEAVE_IR_REDISTRIBUTE_BOUND_H_
