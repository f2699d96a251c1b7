// Paths to the target without a search. A search starts from them, and they let it end early.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_DIRECT_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_DIRECT_H_

#include <vector>

#include "ir/program/redistribute/arrangement.h"
#include "ir/program/redistribute/moves.h"

namespace cleave::ir {

// Some paths from `arrangement` to the target, at least one, with few steps per atom; see the reading guide.
std::vector<ArrangementPath> DirectPaths(const Problem& problem, const Arrangement& arrangement);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_DIRECT_H_
