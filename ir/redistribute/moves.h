// The moves that are possible from an arrangement.
#ifndef CLEAVE_IR_REDISTRIBUTE_MOVES_H_
#define CLEAVE_IR_REDISTRIBUTE_MOVES_H_

#include <optional>
#include <vector>

#include "ir/program/program.h"
#include "ir/redistribute/arrangement.h"

namespace cleave {

struct ArrangementMove {
  std::optional<CollectiveKind> collective;  // nullopt: a slice.
  std::vector<int> atoms;                    // In the order in which they number the group.
  int from_dimension = -1;
  int to_dimension = -1;
  Arrangement result;
};

// Every move from `arrangement`; with `directed` only those that put atoms at their final places, or make them
// replicated. Those always lead to the target.
std::vector<ArrangementMove> MovesFrom(const Problem& problem, const Arrangement& arrangement, bool directed);

}  // namespace cleave

#endif  // CLEAVE_IR_REDISTRIBUTE_MOVES_H_
