// Paths to the target without a search: what a search starts from, and how it ends early.
#ifndef CLEAVE_IR_REDISTRIBUTE_DIRECT_H_
#define CLEAVE_IR_REDISTRIBUTE_DIRECT_H_

#include <vector>

#include "ir/redistribute/arrangement.h"
#include "ir/redistribute/moves.h"

namespace cleave {

// Some paths from `arrangement` to the target, at least one. Few steps per atom; see the reading guide.
std::vector<ArrangementPath> DirectPaths(const Problem& problem, const Arrangement& arrangement);

}  // namespace cleave

#endif  // CLEAVE_IR_REDISTRIBUTE_DIRECT_H_
