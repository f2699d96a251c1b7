// A short path of one problem that is too large for a graph: best-first search over arrangements.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_SEARCH_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_SEARCH_H_

#include "ir/program/redistribute/arrangement.h"
#include "ir/program/redistribute/bound.h"
#include "ir/program/redistribute/moves.h"
#include "ir/program/redistribute/path.h"

namespace cleave::ir {

// The path with what it costs.
FoundPath Priced(const Problem& problem, ArrangementPath path);

// The best of the direct paths.
FoundPath DirectPath(const Problem& problem);

struct SearchLimits {
  MoveChoice choice = MoveChoice::kAll;
  BoundKind bound = BoundKind::kProven;  // With an estimate nothing is proven.
};

// `start` or something better. When a fixed number of moves was looked at, the best path so far is the answer.
FoundPath ShortestPath(const Problem& problem, FoundPath start, const SearchLimits& limits);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_SEARCH_H_
