// Ranks whose local shapes are the same throughout a program: the texts of their programs (text.h) differ only in the
// numbers of ranks.
#ifndef CLEAVE_IR_PROGRAM_ALIKE_RANKS_H_
#define CLEAVE_IR_PROGRAM_ALIKE_RANKS_H_

#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// For each rank the lowest one of its stage that has the same local shapes, in every micro-batch. O(ranks x
// micro-batches x pairs of a shape and a layout that cuts it into uneven pieces).
std::vector<int> LowestAlikeRanks(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_ALIKE_RANKS_H_
