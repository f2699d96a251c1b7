// Copies of parameters in 16 bits that live from step to step.
//
//   w.bf16 = cast(w)   …   w' = w - lr * g
//
// becomes, where nothing else stands between a parameter and its copy,
//
//   w.bf16 is kept     …   w' = w - lr * g     w.bf16' = cast(w')
//
// so that the loop which writes the new weight also writes its copy, and no kernel reads the weight in f32 to round it.
// The copy is a source like the weight, whose update it shares: checkpoints do not have it, and the program makes it
// of the weight before the first step. Copies that a plan gathers in 16 bits are kept in the pieces of the weight.
//
// Casts stay in the step where the new weight is not made piece by piece as it lies (`zero = 1` gathers one that is
// also read in f32, a table takes rows), where a plan computes them again or copies them to the host, both of which
// saves memory, and in manual models.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_KEPT_COPIES_H_
#define CLEAVE_IR_PROGRAM_PARTITION_KEPT_COPIES_H_

#include "ir/program/program.h"

namespace cleave::ir {

// A rewrite like those of rewrite.h.
void KeepCopies(Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_KEPT_COPIES_H_
