// Rewrites of a whole program: each takes a valid program and leaves a valid one that computes the same.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_REWRITE_H_
#define CLEAVE_IR_PROGRAM_PARTITION_REWRITE_H_

#include "ir/program/program.h"

namespace cleave::ir {

// An all_reduce whose readers are only slices along its axes, all at one place, becomes a reduce_scatter: half the
// bytes.
void FuseReduceScatters(Program& program);

// Removes collectives and slices whose result nothing reads.
void RemoveDeadMoves(Program& program);

// Puts each copy to the host's memory behind the last other step of its phase that touches what it copies.
void MoveCopiesOut(Program& program);

// Numbers values in the order in which steps write them, and drops those that none writes.
void RenumberValues(Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_REWRITE_H_
