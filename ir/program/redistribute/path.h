// Paths over arrangements, and which of two is better.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_PATH_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_PATH_H_

#include <compare>
#include <cstdint>

#include "ir/program/redistribute/arrangement.h"
#include "ir/program/redistribute/moves.h"

namespace cleave::ir {

struct FoundPath {
  ArrangementPath moves;
  double cost = 0;
  int collectives = 0;
  bool is_cheapest = false;  // No path of the problem's atoms is cheaper.
};

// Compared in this order: the ticks of what a path costs, then what decides between equal costs.
struct PathOrder {
  int64_t ticks = 0;
  int collectives = 0;
  int moves = 0;

  auto operator<=>(const PathOrder&) const = default;
};

struct PathCost {
  double bytes = 0;
  int collectives = 0;
  int moves = 0;

  PathCost After(const ArrangementMove& move, double price) const {
    return {
        .bytes = bytes + price, .collectives = collectives + (move.collective.has_value() ? 1 : 0), .moves = moves + 1};
  }
  PathOrder Order(const Problem& problem, double still_to_come = 0) const {
    return {.ticks = problem.Ticks(bytes + still_to_come), .collectives = collectives, .moves = moves};
  }
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_PATH_H_
