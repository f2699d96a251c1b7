// Rewrites of a whole program: each takes a sound one and leaves a sound one that computes the same.
#ifndef CLEAVE_IR_PARTITION_REWRITE_H_
#define CLEAVE_IR_PARTITION_REWRITE_H_

#include "ir/program/program.h"

namespace cleave {

// An all_reduce that is only used by a slice along its axes is a reduce_scatter: half the bytes.
void FuseReduceScatters(Program& program);

// Collectives and slices whose result nothing reads.
void RemoveDeadMoves(Program& program);

// One all_reduce for all of the update phase that have the same axes, reduction and element type and do not need one another's
// results. It stands where the first of them can start after the last of their inputs is there.
void MergeAllReduces(Program& program);

// Numbers values in the order in which steps write them, and drops those that none writes.
void RenumberValues(Program& program);

}  // namespace cleave

#endif  // CLEAVE_IR_PARTITION_REWRITE_H_
