// The shortest path of one problem: best-first search over arrangements.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_SEARCH_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_SEARCH_H_

#include <cstdint>
#include <limits>

#include "ir/program/redistribute/arrangement.h"
#include "ir/program/redistribute/bound.h"
#include "ir/program/redistribute/moves.h"

namespace cleave::ir {

struct FoundPath {
  ArrangementPath moves;
  double cost = 0;
  int collectives = 0;
  bool is_cheapest = false;  // No path of the problem's atoms is cheaper.
};

// The best of the direct paths.
FoundPath DirectPath(const Problem& problem);

struct SearchLimits {
  MoveChoice choice = MoveChoice::kAll;
  BoundKind bound = BoundKind::kProven;  // With an estimate nothing is proven.
  // When so many moves were looked at, the best path so far is the answer.
  int64_t most_moves = std::numeric_limits<int64_t>::max();
};

// `start` or something better. With all moves, the proven bound and no limit it is the cheapest path, and of those that
// cost the same the one with the fewest collectives, then the fewest moves.
FoundPath ShortestPath(const Problem& problem, FoundPath start, const SearchLimits& limits);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_SEARCH_H_
