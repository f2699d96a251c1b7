// How much a rank writes of a checkpoint. Training goes on while it is written, from a copy of as many bytes.
//
// The ranks that hold the same piece of a tensor write it together, each some of its rows, as the runtime divides it
// (runtime/checkpoint/slices.h, docs/memory.md): a small piece is written by one of them.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_CHECKPOINT_H_
#define CLEAVE_IR_PROGRAM_MEMORY_CHECKPOINT_H_

#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave::ir {

// The sum over the parameters and states of the program of what a rank writes most of each.
Bytes BytesWritten(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_CHECKPOINT_H_
