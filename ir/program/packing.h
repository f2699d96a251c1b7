// What gathers and scatters of pieces copy, as runtime/comm does it: its libraries send contiguous memory, and some of
// them only equally much from each rank.
//
//   PackingOf(program, collective, PieceCounts::kEqual).message   // Bytes that are packed before a reduce_scatter.
#ifndef CLEAVE_IR_PROGRAM_PACKING_H_
#define CLEAVE_IR_PROGRAM_PACKING_H_

#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave::ir {

// How many elements of a tensor each rank may have where it is gathered or scattered as it lies.
enum class PieceCounts {
  kAny,    // Any number, of one tensor. Several are packed into one message.
  kEqual,  // All the same number. Several such tensors are taken as they lie, too; others are packed.
};

// The message of a gather or scatter whose tensors, or some of them, are packed: one part for each rank of the group.
struct Packing {
  int tensors = 0;  // Of the collective, that are packed.
  Bytes part;
  Bytes message;
};

// Nothing is packed by a collective of another kind. On the rank with the largest pieces.
Packing PackingOf(const Program& program, const Collective& collective, PieceCounts counts);

// Whether the pieces of what a transfer gathers or scatters lie one behind another, and are of one size.
bool IsEven(const Program& program, const Collective& collective, const Transfer& transfer);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PACKING_H_
